use super::*;

/// Configures the virtual actors of a system: see [`Cluster::builder`].
#[must_use = "nothing runs before `start().await`"]
pub struct ClusterBuilder {
    system: System,
    engine: Option<Engine>,
    types: Vec<(TypeId, &'static str, TypeOptions)>,
    roles: BTreeSet<String>,
    max_active: usize,
    lease: LeaseOptions,
    clock: Arc<dyn Clock>,
}

impl ClusterBuilder {
    pub(super) fn new(system: System) -> Self {
        let lease = LeaseOptions {
            address: format!("pid-{}", std::process::id()),
            ttl: Duration::from_secs(10),
            margin: Duration::from_secs(1),
            on_lost: OnLeaseLost::default(),
        };
        Self {
            system,
            engine: None,
            types: Vec::new(),
            roles: BTreeSet::new(),
            max_active: usize::MAX,
            lease,
            clock: Arc::new(BootClock),
        }
    }

    /// Sets the storage engine for ownership, leases and states.
    pub fn engine(mut self, engine: impl Into<Engine>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// Registers an actor type with default options.
    pub fn register<A: VirtualActor>(self) -> Self {
        self.register_with::<A>(TypeOptions::default())
    }

    /// Registers an actor type.
    pub fn register_with<A: VirtualActor>(mut self, options: TypeOptions) -> Self {
        self.types.push((TypeId::of::<A>(), A::TYPE, options));
        self
    }

    /// The maximum number of active actors on this node: beyond it, the least recently used actor is
    /// deactivated. Unlimited by default.
    pub fn max_active(mut self, actors: usize) -> Self {
        self.max_active = actors;
        self
    }

    /// The TTL of the node's lease, and the margin before its expiry at which the node stops serving: 10 s
    /// and 1 s by default. The margin covers clock drift.
    pub fn lease(mut self, ttl: Duration, margin: Duration) -> Self {
        (self.lease.ttl, self.lease.margin) = (ttl, margin);
        self
    }

    /// Sets how the node reacts to a lost lease.
    pub fn on_lease_lost(mut self, then: OnLeaseLost) -> Self {
        self.lease.on_lost = then;
        self
    }

    /// The address of the node for other nodes. An engine does not interpret it.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.lease.address = address.into();
        self
    }

    /// Adds a role to the node, for [`Pinned`](crate::placement::PlacementStrategy::Pinned) types.
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.roles.insert(role.into());
        self
    }

    /// Sets the clock of leases and idle times, for tests. It must be the engine's clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Joins the cluster.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) without an engine, or with a margin that is not shorter than the TTL;
    /// [`InvalidName`](ErrorKind::InvalidName) if the name of a type is not valid or is used twice;
    /// [`NameTaken`](ErrorKind::NameTaken) if the system has a cluster already; [`NoRuntime`](ErrorKind::NoRuntime) outside of a
    /// tokio runtime; [`StartFailed`](ErrorKind::StartFailed) if the engine fails.
    pub async fn start(self) -> Result<Cluster> {
        let runtime = Handle::try_current().map_err(|error| {
            Error::new(ErrorKind::NoRuntime).with("call", "Cluster::start").because(error)
        })?;
        self.check()?;
        let Self { system, engine, types, roles, max_active, lease, clock } = self;
        let Some(engine) = engine else { return Err(unsupported("there is no engine")) };
        let sent = clock.now();
        let node = NodeId::start(&lease.address);
        retry(|| engine.membership.join(system.name(), &node, lease.ttl)).await.map_err(|error| {
            Error::new(ErrorKind::StartFailed)
                .with("system", system.name())
                .because(ClusterError::from(error))
        })?;
        let epoch = Epoch::new(node, clock.clone(), sent + lease.ttl - lease.margin);
        let info = |(of, name, options)| {
            let id = match EntityId::new(system.name(), name, "key") {
                Ok(id) => id,
                Err(error) => unreachable!("the names were checked: {error}"),
            };
            let (parent, by_use, warned) = (OnceLock::new(), ByUse::default(), AtomicBool::new(false));
            (of, Arc::new(TypeInfo { name, id, options, parent, by_use, warned }))
        };
        let types = types.into_iter().map(info).collect();
        let inner = Arc::new(Inner {
            system,
            engine,
            runtime,
            clock,
            catalog: Catalog::default(),
            lease,
            progress: AtomicU64::new(0),
            types,
            roles,
            max_active,
            epoch: RwLock::new(Arc::new(epoch)),
            reaper: tokio::sync::Mutex::new(Reaper::new()),
            closing: AtomicBool::new(false),
            left: AtomicBool::new(false),
            root: OnceLock::new(),
            renewals: Mutex::new(None),
        });
        if let Err(error) = inner.spawn_parents().await {
            inner.leave().await;
            return Err(error);
        }
        // Detects a killed predecessor now, not with the first claim.
        inner.reap().await;
        let thread = crate::renewal::start(&inner)?;
        *inner.renewals.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        crate::sweep::start(&inner);
        Ok(Cluster { inner })
    }

    fn check(&self) -> Result<()> {
        if self.lease.margin >= self.lease.ttl {
            return Err(unsupported("the margin of the lease is not shorter than its TTL"));
        }
        for (at, (_, name, _)) in self.types.iter().enumerate() {
            let invalid = || Error::new(ErrorKind::InvalidName).with("type", name);
            ActorId::new(self.system.name(), name, "key").map_err(|error| invalid().because(error))?;
            if self.types[..at].iter().any(|(_, before, _)| before == name) {
                return Err(invalid().with("because", "two types have this name"));
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Spawns the parents of the activations.
    async fn spawn_parents(self: &Arc<Self>) -> Result<()> {
        let root = self.system.spawn_service(Root(Arc::downgrade(self))).name("virtual").await?;
        for kind in self.types.values() {
            let parent = spi::spawn_child(&root, TypeParent).name(kind.name).await?;
            let _ = kind.parent.set(parent);
        }
        let _ = self.root.set(root);
        Ok(())
    }
}

fn unsupported(why: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported).with("call", "Cluster::start").with("because", why)
}

impl fmt::Debug for ClusterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<_> = self.types.iter().map(|(_, name, _)| name).collect();
        f.debug_struct("ClusterBuilder").field("types", &types).finish_non_exhaustive()
    }
}
