//! The nodes of a cell, and the names by which a file may mean them.
//!
//! * A client is its table's name, or `NAME-1` and so on with `count`; `NAME` alone then means all.
//! * Servers are `redis-1` and so on; the resource is `resource`.
//! * Groups: `clients`, `servers` (all lock servers), and a word for each kind of server that has one. Roles: `holder`, whoever reached the milestone of the fault's
//!   `when`; `primary`, the server that is that when the fault strikes. `any` is drawn for each seed. A file may give one name or a list.

use models::lock::{LockFacts, ServerKind, Service};

use super::error::Sink;
use super::reader::{list, not_supported, wrong_type};
use super::suggest::{did_you_mean, no_such_name};
use super::tree::{Node, Site, Value};
use crate::cell::NodeRef;

/// The resource's name.
pub(super) const RESOURCE: &str = "resource";
const CLIENTS: &str = "clients";
const SERVERS: &str = "servers";
const HOLDER: &str = "holder";
const ANY: &str = "any";
const PRIMARY: &str = "primary";
/// The member of a cluster that leads when the fault strikes.
const LEADER: &str = "leader";
/// Roles and groups of services that do not exist yet.
const NOT_YET: [&str; 1] = ["follower"];

/// What a node is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Client,
    Server,
    Resource,
}

/// The nodes of a cell.
#[derive(Debug)]
pub(super) struct Names {
    nodes: Vec<Known>,
    /// A client table with `count`, and the names of its clients.
    counted: Vec<(String, Vec<String>)>,
    /// Whether the lock could be read, and so its servers are known.
    servers_known: bool,
    /// Whether all clients could be read.
    clients_known: bool,
    /// Whether those that hold the lock call themselves leaders.
    elects: bool,
}

#[derive(Debug)]
struct Known {
    name: String,
    kind: Kind,
    /// If it is a lock server: of which kind.
    server: Option<ServerKind>,
    /// Switched off in this cell.
    off: bool,
}

/// Whether `holder` means somebody here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Roles {
    /// The fault starts at a milestone, so that somebody reaches it.
    Holder,
    /// No milestone says who.
    None,
}

impl Names {
    /// The servers of the lock and the resource; clients are added one by one. A lock that could not
    /// be read, or whose service could not, has servers that nobody knows.
    pub(super) fn new(lock: Option<(&LockFacts, &Service)>) -> Self {
        let servers = lock.iter().flat_map(|(facts, service)| facts.servers(service));
        let servers = servers.map(|(name, kind)| (name, Kind::Server, Some(kind)));
        let nodes = servers
            .chain([(RESOURCE.to_owned(), Kind::Resource, None)])
            .map(|(name, kind, server)| Known { name, kind, server, off: false })
            .collect();
        let elects = lock.is_some_and(|(facts, _)| facts.elects);
        Self { nodes, counted: Vec::new(), servers_known: lock.is_some(), clients_known: true, elects }
    }

    /// Adds the clients of one table, and gives their names. A name that is taken is a mistake.
    pub(super) fn add_clients(
        &mut self,
        sink: &Sink,
        site: Site,
        table: &str,
        count: Option<u32>,
        off: bool,
    ) -> Vec<String> {
        let names: Vec<_> = match count {
            None => vec![table.to_owned()],
            Some(count) => (1..=count).map(|i| format!("{table}-{i}")).collect(),
        };
        let reserved = [RESOURCE, CLIENTS, SERVERS, HOLDER, PRIMARY, LEADER, ANY];
        let taken = |name: &str| {
            reserved.contains(&name)
                || ServerKind::ALL.iter().any(|kind| kind.group_word() == Some(name))
                || NOT_YET.contains(&name)
                || self.nodes.iter().any(|node| node.name == name)
                || self.counted.iter().any(|(table, _)| table == name)
        };
        if let Some(name) = [table].into_iter().chain(names.iter().map(String::as_str)).find(|name| taken(name)) {
            sink.error(site, format!("`{name}` is the name of something else, and cannot be a client's"));
            self.clients_known = false;
            return Vec::new();
        }
        self.nodes.extend(names.iter().map(|name| Known { name: name.clone(), kind: Kind::Client, server: None, off }));
        if count.is_some() {
            self.counted.push((table.to_owned(), names.clone()));
        }
        names
    }

    /// Says that some clients could not be read.
    pub(super) const fn miss_clients(&mut self) {
        self.clients_known = false;
    }

    /// Whether all clients could be read.
    pub(super) const fn knows_clients(&self) -> bool {
        self.clients_known
    }

    /// How many nodes there are in this cell.
    pub(super) fn len(&self) -> usize {
        self.nodes.iter().filter(|node| !node.off).count()
    }

    /// All clients of this cell.
    pub(super) fn clients(&self) -> Vec<NodeRef> {
        self.of_kind(Kind::Client).into_iter().map(NodeRef::Named).collect()
    }

    /// All lock servers of this cell.
    pub(super) fn servers(&self) -> Vec<NodeRef> {
        self.of_kind(Kind::Server).into_iter().map(NodeRef::Named).collect()
    }

    /// Whether the lock has servers of that kind.
    pub(super) fn has(&self, kind: ServerKind) -> bool {
        self.nodes.iter().any(|node| node.server == Some(kind))
    }

    /// Whether the lock's servers agree, and one of them leads.
    pub(super) fn agrees(&self) -> bool {
        self.nodes.iter().any(|node| node.server.is_some_and(ServerKind::agrees))
    }

    /// What that lock server is, if it is one.
    pub(super) fn server_kind(&self, node: &NodeRef) -> Option<ServerKind> {
        match node {
            NodeRef::Primary => Some(ServerKind::Primary),
            NodeRef::Leader => self.nodes.iter().filter_map(|node| node.server).find(|kind| kind.agrees()),
            NodeRef::Named(name) => self.nodes.iter().find(|known| known.name == *name)?.server,
            NodeRef::Holder | NodeRef::Any(_) => None,
        }
    }

    /// The lock servers of that kind.
    fn servers_of(&self, kind: ServerKind) -> Vec<String> {
        self.nodes.iter().filter(|node| node.server == Some(kind)).map(|node| node.name.clone()).collect()
    }

    /// Reads a client's own list of lock servers: those that can grant, in its order.
    pub(super) fn known_servers(&self, sink: &Sink, node: &Node) -> Option<Vec<String>> {
        let named = self.several(sink, node, Roles::None)?;
        let grants = |name: &String| {
            self.nodes.iter().any(|known| known.name == *name && known.server.is_some_and(ServerKind::grants))
        };
        let names: Vec<_> = named.iter().map(|node| shown(node).to_owned()).collect();
        if let Some(other) = names.iter().find(|name| !grants(name)) {
            sink.error(node.site, format!("`{other}` grants no lock: a client's `servers` are those that do"));
            return None;
        }
        Some(names)
    }

    /// What that node is; the holder is a client.
    pub(super) fn kind(&self, node: &NodeRef) -> Kind {
        match node {
            NodeRef::Primary | NodeRef::Leader => Kind::Server,
            NodeRef::Holder | NodeRef::Any(_) => Kind::Client,
            NodeRef::Named(name) => {
                self.nodes.iter().find(|known| known.name == *name).map_or(Kind::Client, |known| known.kind)
            }
        }
    }

    /// Reads one name or a list. Nobody is named twice, and nobody who is off.
    pub(super) fn several(&self, sink: &Sink, node: &Node, roles: Roles) -> Option<Vec<NodeRef>> {
        let groups = match &node.value {
            Value::Text(_) => vec![(node.site, self.group(sink, node, roles)?)],
            Value::List(items) if items.is_empty() => {
                sink.error(node.site, "this names no node");
                return None;
            }
            Value::List(_) => {
                list(sink, node, "nodes", |sink, item| self.group(sink, item, roles).map(|group| (item.site, group)))?
            }
            _ => return wrong_type(sink, node, "nodes are a name or a list of names"),
        };
        let mut all: Vec<NodeRef> = Vec::new();
        for (site, group) in groups {
            if let Some(twice) = group.iter().find(|node| all.contains(node)) {
                sink.error(site, format!("`{}` is named twice", shown(twice)));
                return None;
            }
            all.extend(group);
        }
        Some(all)
    }

    /// Reads one name, a list, or `any`: one node of this cell, drawn for each seed.
    pub(super) fn several_or_any(&self, sink: &Sink, node: &Node, roles: Roles) -> Option<Vec<NodeRef>> {
        if node.as_text() != Some(ANY) {
            return self.several(sink, node, roles);
        }
        let here = self.nodes.iter().filter(|node| !node.off).map(|node| node.name.clone());
        (self.clients_known && self.servers_known).then(|| vec![NodeRef::Any(here.collect())])
    }

    /// Reads the name of exactly one node.
    pub(super) fn one(&self, sink: &Sink, node: &Node, roles: Roles) -> Option<NodeRef> {
        let mut group = match node.value {
            Value::Text(_) => self.group(sink, node, roles)?,
            _ => return wrong_type(sink, node, "this is the name of one node"),
        };
        if group.len() != 1 {
            let message = format!("`{}` means {} nodes, and this is about one", node.label(), group.len());
            sink.error_with(
                node.site,
                message,
                group.first().map(|first| format!("name one, as in `{}`", shown(first))),
            );
            return None;
        }
        group.pop()
    }

    /// Reads the name of exactly one client.
    pub(super) fn client(&self, sink: &Sink, node: &Node) -> Option<String> {
        let NodeRef::Named(name) = self.one(sink, node, Roles::None)? else { return None };
        if self.kind(&NodeRef::Named(name.clone())) != Kind::Client {
            sink.error(node.site, format!("`{name}` is not a client"));
            return None;
        }
        Some(name)
    }

    /// The nodes that one word means.
    fn group(&self, sink: &Sink, node: &Node, roles: Roles) -> Option<Vec<NodeRef>> {
        let Some(name) = node.as_text() else { return wrong_type(sink, node, "a node is named by a string") };
        let named = |names: Vec<String>| Some(names.into_iter().map(NodeRef::Named).collect());
        match name {
            HOLDER if roles == Roles::Holder => return Some(vec![NodeRef::Holder]),
            HOLDER => {
                sink.error(node.site, "`holder` is whoever reaches a milestone, and no `when` names one here");
                return None;
            }
            PRIMARY if self.has(ServerKind::Primary) || !self.servers_known => return Some(vec![NodeRef::Primary]),
            LEADER if self.elects => {
                let help = "the client that is elected is the `holder`, with `when`; a member is `etcd-1`";
                let message = "`leader` is the member of the cluster that leads, and not who is elected by this lock";
                sink.error_with(node.site, message, Some(help.to_owned()));
                return None;
            }
            LEADER if self.agrees() || !self.servers_known => return Some(vec![NodeRef::Leader]),
            PRIMARY | LEADER => {
                let other = [(self.has(ServerKind::Primary), PRIMARY), (self.agrees(), LEADER)];
                let there = other.into_iter().find(|(is_there, _)| *is_there);
                let meant = there.map(|(_, role)| format!("they have a `{role}`"));
                sink.error_with(node.site, format!("this lock's servers have no {name}"), meant);
                return None;
            }
            // An empty group has its mistake elsewhere: no client, or a lock that could not be read.
            CLIENTS => return named(self.of_kind(Kind::Client)).filter(|group: &Vec<_>| !group.is_empty()),
            SERVERS => return named(self.of_kind(Kind::Server)).filter(|group: &Vec<_>| !group.is_empty()),
            ANY => {
                sink.error(node.site, "`any` is one node for faults of whole processes and machines, and stands alone");
                return None;
            }
            _ if NOT_YET.contains(&name) => return not_supported(sink, node.site, name),
            _ => {}
        }
        if let Some(kind) = ServerKind::ALL.into_iter().find(|kind| kind.group_word() == Some(name)) {
            let servers = self.servers_of(kind);
            if servers.is_empty() && self.servers_known {
                sink.error(node.site, format!("this lock has no {name}"));
            }
            return named(servers).filter(|group: &Vec<_>| !group.is_empty());
        }
        let known = self.nodes.iter().find(|known| known.name == name);
        let counted = self.counted.iter().find(|(table, _)| table == name);
        let names = match (known, counted) {
            (Some(known), _) => vec![known.name.clone()],
            (None, Some((_, names))) => names.clone(),
            (None, None) => return self.unknown(sink, node.site, name),
        };
        if self.nodes.iter().any(|known| known.off && names.contains(&known.name)) {
            sink.error(node.site, format!("client `{name}` is off in this cell"));
            return None;
        }
        named(names)
    }

    fn unknown<T>(&self, sink: &Sink, site: Site, name: &str) -> Option<T> {
        if let Some((node, _)) = name.split_once('/') {
            let message = format!("`{name}` is a part of a process, and only a stall acts on one");
            sink.error_with(site, message, Some(format!("name the node, `{node}`")));
        } else if !self.may_be_unread(name) {
            let message = format!("this cell has no node `{name}`");
            let here = || self.nodes.iter().filter(|node| !node.off).map(|node| node.name.as_str());
            let counted = || self.counted.iter().map(|(table, _)| table.as_str());
            let meant = did_you_mean(name, here().chain(counted()).chain([CLIENTS, SERVERS, HOLDER]));
            // Servers that nobody knows would be missing from the list.
            if meant.is_some() || !self.servers_known {
                sink.error_with(site, message, meant);
            } else {
                no_such_name(sink, site, &message, name, self.called());
            }
        }
        None
    }

    /// What the nodes of this cell are called, clients first; those of one table by the table's name.
    fn called(&self) -> Vec<&str> {
        let here = self.nodes.iter().filter(|node| !node.off);
        let (clients, others): (Vec<_>, Vec<_>) = here.partition(|node| node.kind == Kind::Client);
        let mut names: Vec<&str> = clients.into_iter().chain(others).map(|node| self.called_one(node)).collect();
        names.dedup();
        names
    }

    fn called_one<'n>(&'n self, node: &'n Known) -> &'n str {
        let table = self.counted.iter().find(|(_, clients)| clients.contains(&node.name));
        table.map_or(&node.name, |(table, _)| table)
    }

    /// Whether that may be the name of a node that could not be read: then the mistake is there.
    fn may_be_unread(&self, name: &str) -> bool {
        let numbered = name.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u16>().is_ok());
        !self.clients_known || (!self.servers_known && numbered)
    }

    fn of_kind(&self, kind: Kind) -> Vec<String> {
        self.nodes.iter().filter(|node| node.kind == kind && !node.off).map(|node| node.name.clone()).collect()
    }
}

fn shown(node: &NodeRef) -> &str {
    match node {
        NodeRef::Named(name) => name,
        NodeRef::Holder => HOLDER,
        NodeRef::Primary => PRIMARY,
        NodeRef::Leader => LEADER,
        NodeRef::Any(_) => ANY,
    }
}
