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

/// `hash-unlock KEYS[1] ARGV[1]=px ARGV[2]=owner ARGV[3]=channel`
pub(super) const HASH_UNLOCK_AND_TELL: &str = r#"if redis.call("hexists",KEYS[1],ARGV[2]) == 0 then return nil end
if redis.call("hincrby",KEYS[1],ARGV[2],-1) > 0 then
redis.call("pexpire",KEYS[1],ARGV[1])
return 0 else
redis.call("del",KEYS[1])
redis.call("publish",ARGV[3],"0")
return 1 end"#;

/// `fair-lock KEYS[1] KEYS[2]=queue KEYS[3]=deadlines ARGV[1]=owner ARGV[2]=px ARGV[3]=now ARGV[4]=slot ARGV[5]=1 if it
/// moves up ARGV[6]=1 if told of the next end`
pub(super) const FAIR_LOCK: &str = r#"local owner, now, slot = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local first = redis.call("lindex",KEYS[2],0)
while first and tonumber(redis.call("zscore",KEYS[3],first)) <= now do
redis.call("zrem",KEYS[3],first)
redis.call("lpop",KEYS[2])
first = redis.call("lindex",KEYS[2],0) end
if redis.call("exists",KEYS[1]) == 0 and (not first or first == owner) then
redis.call("lpop",KEYS[2])
redis.call("zrem",KEYS[3],owner)
if ARGV[5] == "1" then
for _, other in ipairs(redis.call("zrange",KEYS[3],0,-1)) do redis.call("zincrby",KEYS[3],-slot,other) end end
redis.call("hset",KEYS[1],owner,1)
redis.call("pexpire",KEYS[1],ARGV[2])
return nil end
if redis.call("hexists",KEYS[1],owner) == 1 then
redis.call("hincrby",KEYS[1],owner,1)
redis.call("pexpire",KEYS[1],ARGV[2])
return nil end
local own = redis.call("zscore",KEYS[3],owner)
if own and ARGV[6] == "1" then
if redis.call("exists",KEYS[1]) == 0 then return tonumber(redis.call("zscore",KEYS[3],first)) - now end
return redis.call("pttl",KEYS[1]) + 1 end
if own then return tonumber(own) - slot - now end
local last, left = redis.call("lindex",KEYS[2],-1), 0
if last then left = tonumber(redis.call("zscore",KEYS[3],last)) - now else left = redis.call("pttl",KEYS[1]) end
redis.call("zadd",KEYS[3],left + slot + now,owner)
redis.call("rpush",KEYS[2],owner)
return left"#;

/// `fair-unlock KEYS[1] KEYS[2]=queue KEYS[3]=deadlines ARGV[1]=owner ARGV[2]=px ARGV[3]=now ARGV[4]=channel`
pub(super) const FAIR_UNLOCK: &str = r#"local owner, now = ARGV[1], tonumber(ARGV[3])
local first = redis.call("lindex",KEYS[2],0)
while first and tonumber(redis.call("zscore",KEYS[3],first)) <= now do
redis.call("zrem",KEYS[3],first)
redis.call("lpop",KEYS[2])
first = redis.call("lindex",KEYS[2],0) end
if redis.call("exists",KEYS[1]) == 1 then
if redis.call("hexists",KEYS[1],owner) == 0 then return nil end
if redis.call("hincrby",KEYS[1],owner,-1) > 0 then
redis.call("pexpire",KEYS[1],ARGV[2])
return 0 end
redis.call("del",KEYS[1]) end
if first then redis.call("publish",ARGV[4] .. ":" .. first,"0") end
return 1"#;

/// `fair-leave KEYS[1]=queue KEYS[2]=deadlines ARGV[1]=owner ARGV[2]=slot ARGV[3]=1 if it moves up`
pub(super) const FAIR_LEAVE: &str = r#"local behind = false
for _, other in ipairs(redis.call("lrange",KEYS[1],0,-1)) do
if behind and ARGV[3] == "1" then redis.call("zincrby",KEYS[2],-tonumber(ARGV[2]),other) end
if other == ARGV[1] then behind = true end end
redis.call("zrem",KEYS[2],ARGV[1])
redis.call("lrem",KEYS[1],0,ARGV[1])
return nil"#;

/// `hash-extend KEYS[1] ARGV[1]=px ARGV[2]=owner`
pub(super) const HASH_EXTEND: &str = r#"if redis.call("hexists",KEYS[1],ARGV[2]) == 1 then
redis.call("pexpire",KEYS[1],ARGV[1])
return 1 else return 0 end"#;
