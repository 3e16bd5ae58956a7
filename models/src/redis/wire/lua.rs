//! The scripts of locks in Lua, word for word as a client sends them.

/// `compare-and-delete KEYS[1] ARGV[1]=value`
pub(super) const COMPARE_AND_DELETE: &str =
    r#"if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end"#;

/// `compare-and-pexpire KEYS[1] ARGV[1]=value ARGV[2]=px`
pub(super) const COMPARE_AND_PEXPIRE: &str =
    r#"if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end"#;

/// `lock-with-token KEYS[1] KEYS[2]=counter ARGV[1]=value [ARGV[2]=px]`
pub(super) const LOCK_WITH_TOKEN: &str = r#"local set
if ARGV[2] then set = redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2])
else set = redis.call("set",KEYS[1],ARGV[1],"NX") end
if set then return redis.call("incr",KEYS[2]) else return nil end"#;

/// `raise-counter KEYS[1] KEYS[2]=counter ARGV[1]=value ARGV[2]=to`
pub(super) const RAISE_COUNTER: &str = r#"if redis.call("get",KEYS[1]) ~= ARGV[1] then return 0 end
local count = tonumber(redis.call("get",KEYS[2]) or 0) or 0
if count < tonumber(ARGV[2]) then redis.call("set",KEYS[2],ARGV[2]) end
return 1"#;

/// `extend-or-create KEYS[1] ARGV[1]=value ARGV[2]=px`
pub(super) const EXTEND_OR_CREATE: &str = r#"if redis.call("get",KEYS[1]) == ARGV[1] or redis.call("exists",KEYS[1]) == 0
then return redis.call("set",KEYS[1],ARGV[1],"PX",ARGV[2]) else return nil end"#;

/// `extend-by-adding KEYS[1] ARGV[1]=value ARGV[2]=px`
pub(super) const EXTEND_BY_ADDING: &str = r#"if redis.call("get",KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call("pttl",KEYS[1])
if left < 0 then left = 0 end
redis.call("pexpire",KEYS[1],left + ARGV[2])
return left + ARGV[2]"#;

/// `hash-lock KEYS[1] ARGV[1]=px ARGV[2]=owner [ARGV[3]=request]`
pub(super) const HASH_LOCK: &str = r#"if ARGV[3] and redis.call("hget",KEYS[1],"request") == ARGV[3] then return nil end
if redis.call("exists",KEYS[1]) == 0 or redis.call("hexists",KEYS[1],ARGV[2]) == 1 then
redis.call("hincrby",KEYS[1],ARGV[2],1)
if ARGV[3] then redis.call("hset",KEYS[1],"request",ARGV[3]) end
redis.call("pexpire",KEYS[1],ARGV[1])
return nil end
return redis.call("pttl",KEYS[1])"#;

/// `hash-unlock KEYS[1] ARGV[1]=px ARGV[2]=owner`
pub(super) const HASH_UNLOCK: &str = r#"if redis.call("hexists",KEYS[1],ARGV[2]) == 0 then return nil end
if redis.call("hincrby",KEYS[1],ARGV[2],-1) > 0 then
redis.call("pexpire",KEYS[1],ARGV[1])
return 0 else
redis.call("del",KEYS[1])
return 1 end"#;

/// `hash-extend KEYS[1] ARGV[1]=px ARGV[2]=owner`
pub(super) const HASH_EXTEND: &str = r#"if redis.call("hexists",KEYS[1],ARGV[2]) == 1 then
redis.call("pexpire",KEYS[1],ARGV[1])
return 1 else return 0 end"#;
