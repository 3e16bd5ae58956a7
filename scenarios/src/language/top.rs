//! One cell: the top level of a file, once the matrix's options are laid over it.
//!
//! | field | default |
//! |---|---|
//! | `name`, `title`, `source`, `lock` | required |
//! | `seeds` | 100 |
//! | `horizon`, `ttl` | `"60s"`, `"10s"` |
//! | `network` | `client-server = "1ms"`, `client-resource = "2ms"`, `server-server = "1ms"`, `call-timeout = "1s"` |
//! | `profile` | none; one gives `network` other defaults, and faults |
//! | `resource` | `"open"` |
//! | `service` | `redis = {}`, with the defaults of its switches |
//! | `bounds` | none |

use std::collections::{BTreeMap, BTreeSet};

use host::{Duration, Span};
use models::script::{Script, Step};
use spec::LockName;

use super::bounds::{bounds, check_claims};
use super::clients::{Around, Group, clients};
use super::error::Sink;
use super::expect::Claims;
use super::faults::faults;
use super::figures::{add, reach};
use super::frontier;
use super::lock::{lock, ttl};
use super::nodes::{Names, Roles};
use super::profile;
use super::reader::{Fields, fields as fields_of, list, table, wrong_type};
use super::resource::{check_act, check_tokens, resource};
use super::service::service;
use super::steps::Cues;
use super::store::check_store;
use super::tree::{Entry, Node, Site, Table, Value};
use super::value::{integer, positive, ppm, signed, span, text};
use super::when::{World, cues};
use crate::cell::{Cell, Client, Network, NodeRef, NodeSettings, Resource};
use crate::figure::FigureClaim;
use crate::profile::Profile;

/// What a file says of itself.
pub(super) struct Header {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) source: Vec<String>,
    pub(super) note: Option<String>,
    pub(super) seeds: u64,
}

const SEEDS: u64 = 100;
const HORIZON: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(10);
const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads a whole file as one cell, of which that is expected. If it gives `None`, the sink has the reasons.
pub(super) fn cell(sink: &Sink, file: &Table, claims: &Claims<'_>) -> Option<(Header, Cell)> {
    fields_of(sink, Site::FILE, file, |fields| {
        let header = header(fields);
        for of_the_file in ["matrix", "expect"] {
            fields.get(of_the_file);
        }
        let horizon = fields.or("horizon", HORIZON, positive);
        let ttl = fields.or("ttl", Some(TTL), ttl);
        let profile = fields.maybe("profile", profile::profile);
        let network = network(fields, profile.flatten());
        let resource = fields.or("resource", Resource::default(), resource);
        let guard = resource.as_ref().map(|resource| resource.guard);
        let call_timeout = network.as_ref().map_or(CALL_TIMEOUT, |network| network.call_timeout);
        let lock = fields.need("lock", |sink, node| lock(sink, node, guard, ttl, call_timeout));
        let service = service(fields, lock.as_ref());

        let mut names = Names::new(lock.as_ref().map(models::lock::Lock::facts).zip(service.as_ref()));
        let mut moments = Cues::default();
        let lock_node = fields.get("lock").map(|entry| &entry.node);
        let around = Around { call_timeout, resource: resource.as_ref(), lock: lock.as_ref(), lock_node, ttl };
        let groups = clients(fields, around, &mut names, &mut moments);
        let act =
            resource.as_ref().and_then(|resource| check_act(fields, resource, groups.iter().map(|group| group.uses)));
        let tokens = lock
            .as_ref()
            .zip(resource.as_ref())
            .and_then(|(lock, resource)| check_tokens(fields, lock, resource, &groups));
        let store = lock
            .as_ref()
            .zip(resource.as_ref())
            .and_then(|(lock, resource)| check_store(fields, lock, resource, &groups));
        let uses = groups.iter().flat_map(|group| group.names.iter().map(|name| (name.clone(), group.uses))).collect();
        let locks = locks(&groups);
        let client_locks = groups.iter().flat_map(Group::locks).collect();
        // What expires for one client expires on the servers, and the longest lease counts.
        let longest = groups.iter().filter_map(|group| group.ttl).max().or(ttl);
        let world = World { horizon, ttl: longest, lock, service, resource, names, locks, uses, client_locks };
        let nodes = node_settings(fields, &world);
        let cues = cues(sink, &world, &moments);
        let mut faults = faults(fields, &world);
        faults.extend(profile.flatten().iter().flat_map(|profile| profile::faults(*profile, &world)));
        let figures = figures(sink, claims, &world);
        let frontier = claims.frontier.as_ref().map(|entry| frontier::claim(sink, entry, &world));
        let bounds = bounds(fields, world.horizon, world.ttl);
        if let Some(bounds) = &bounds {
            check_claims(sink, bounds, claims);
        }

        act?;
        store?;
        tokens?;
        let cell = Cell {
            params: Vec::new(),
            lock: world.lock?,
            service: world.service?,
            horizon: horizon?,
            ttl: ttl?,
            network: network?,
            profile: profile?,
            nodes,
            resource: world.resource?,
            clients: groups.into_iter().map(members).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect(),
            cues,
            faults,
            bounds: bounds?,
            expectations: claims.properties.iter().map(|(name, (claim, _))| (*name, claim.clone())).collect(),
            figures: figures?,
            criterion: None,
            frontier: frontier.map_or(Some(None), |claim| claim.map(Some))?,
            outside: claims.outside.clone(),
        };
        Some((header?, cell))
    })
}

/// The locks that any client asks for.
fn locks(groups: &[Group]) -> Vec<LockName> {
    let steps = groups.iter().filter_map(|group| group.script.as_ref()).flat_map(Script::all_steps);
    let asked = steps.filter_map(|step| match step {
        Step::Acquire { lock, .. } => Some(*lock),
        _ => None,
    });
    asked.collect::<BTreeSet<_>>().into_iter().collect()
}

/// What is expected to be some number, milestones last.
fn figures(sink: &Sink, claims: &Claims<'_>, world: &World) -> Option<Vec<FigureClaim>> {
    let mut all = claims.figures.clone();
    let lists: Vec<_> = claims.reach.iter().map(|node| reach(sink, node, world)).collect();
    for figure in lists.into_iter().collect::<Option<Vec<_>>>()?.iter().flatten() {
        add(sink, &mut all, figure);
    }
    Some(all)
}

fn header(fields: &mut Fields<'_>) -> Option<Header> {
    let name = fields.need("name", kebab_case);
    let title = fields.need("title", text);
    let source = fields.need("source", source);
    let note = fields.maybe("note", text);
    let seeds = fields
        .or("seeds", SEEDS, |sink, node| integer(sink, node, "`seeds` is a whole number", 1, u32::MAX).map(u64::from));
    Some(Header { name: name?, title: title?, source: source?, note: note?, seeds: seeds? })
}

fn kebab_case(sink: &Sink, node: &Node) -> Option<String> {
    let name = text(sink, node)?;
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !name.split('-').all(word) {
        sink.error(node.site, format!("`{name}` is not kebab-case: lower-case words and digits with `-` between them"));
        return None;
    }
    Some(name)
}

fn source(sink: &Sink, node: &Node) -> Option<Vec<String>> {
    let sources = match &node.value {
        Value::Text(_) => text(sink, node).map(|source| vec![source]),
        Value::List(_) => list(sink, node, "`source`", text),
        _ => return wrong_type(sink, node, "`source` is a string or a list of strings"),
    };
    if sources.as_ref().is_some_and(Vec::is_empty) {
        sink.error(node.site, "a scenario cites where its claim comes from");
        return None;
    }
    sources
}

fn network(fields: &mut Fields<'_>, profile: Option<Profile>) -> Option<Network> {
    let read = |fields: &mut Fields<'_>| {
        let millis = |millis| profile.map_or_else(|| Span::Fixed(Duration::from_millis(millis)), Profile::latency);
        let client_server = fields.or("client-server", millis(1), span);
        let client_resource = fields.or("client-resource", millis(2), span);
        let server_server = fields.or("server-server", millis(1), span);
        let call_timeout = fields.or("call-timeout", CALL_TIMEOUT, positive);
        Some(Network {
            client_server: client_server?,
            client_resource: client_resource?,
            server_server: server_server?,
            call_timeout: call_timeout?,
        })
    };
    let (sink, site) = (fields.sink, fields.site);
    match fields.get("network") {
        Some(entry) => table(sink, &entry.node, "`network`", read),
        None => fields_of(sink, site, Table::EMPTY, read),
    }
}

/// Reads `[node.NAME]`: one node, all clients of a table with `count`, or a group.
fn node_settings(fields: &mut Fields<'_>, world: &World) -> BTreeMap<String, NodeSettings> {
    let sink = fields.sink;
    let mut settings = BTreeMap::new();
    let Some(entry) = fields.get("node") else { return settings };
    let Value::Table(tables) = &entry.node.value else {
        return wrong_type(sink, &entry.node, "`node` is a table of nodes").unwrap_or_default();
    };
    for entry in &tables.entries {
        let Some((nodes, own)) = one_node_setting(sink, entry, world) else { continue };
        for node in nodes {
            let NodeRef::Named(name) = node else { continue };
            if settings.contains_key(&name) {
                sink.error(entry.site, format!("`{name}` has its settings elsewhere already"));
            }
            settings.insert(name, own);
        }
    }
    settings
}

fn one_node_setting(sink: &Sink, entry: &Entry, world: &World) -> Option<(Vec<NodeRef>, NodeSettings)> {
    let name = Node { site: entry.site, value: Value::Text(entry.key.clone()) };
    let nodes = world.names.several(sink, &name, Roles::None);
    let own = table(sink, &entry.node, "a node's settings", |fields| {
        let rate = fields.or("rate-ppm", host::Ppm::ZERO, ppm);
        let wall_offset = fields.or("wall-offset", 0, signed);
        Some(NodeSettings { rate: rate?, wall_offset: wall_offset? })
    });
    Some((nodes?, own?))
}

fn members(group: Group) -> Option<Vec<Client>> {
    let script = group.script?;
    let (lock, ttl, servers) = (group.lock?, group.ttl?, group.servers?);
    let client = |name| Client { name, script: script.clone(), lock: lock.clone(), ttl, servers: servers.clone() };
    Some(group.names.into_iter().map(client).collect())
}
