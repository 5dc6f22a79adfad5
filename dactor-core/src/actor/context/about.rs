//! What every context tells about its actor and the current message.

/// Implements the accessors that [`Context`](crate::Context) and [`ReadContext`](crate::ReadContext) have in common.
macro_rules! accessors {
    ($context:ident) => {
        /// The actor, and the current message.
        impl<A: Actor> $context<A> {
            /// The ref to this actor.
            pub fn actor_ref(&self) -> &ActorRef<A> {
                &self.myself
            }

            /// This actor's id.
            pub fn id(&self) -> Pid {
                self.myself.id()
            }

            /// This actor's name, if it was spawned with one.
            pub fn name(&self) -> Option<&str> {
                self.myself.name()
            }

            /// This actor's path, with its UID: see [`ActorRef::path`].
            pub fn path(&self) -> ActorPath {
                self.myself.path()
            }

            /// The system this actor lives in.
            pub fn system(&self) -> &System {
                self.myself.system()
            }

            /// Stops this actor after the current message, and after reads that run beside it: see [`ActorRef::stop`].
            pub fn stop(&self) {
                self.myself.stop();
            }

            /// The live child with this name, if it is a `B`.
            pub fn child<B: Actor>(&self, name: &str) -> Option<ActorRef<B>> {
                ActorRef::known(self.myself.core.meta.family().child(name)?)
            }

            /// The live children of this actor, in spawn order.
            pub fn children(&self) -> Vec<AnyActorRef> {
                self.myself.core.meta.family().children().into_iter().map(AnyActorRef::new).collect()
            }

            /// The number of live children of this actor.
            pub fn child_count(&self) -> usize {
                self.myself.core.meta.family().count()
            }

            /// The headers of the current message.
            pub fn headers(&self) -> &Headers {
                &self.current.headers
            }

            /// Sets a header beside the reply. Does nothing for a told message, which has no reply.
            pub fn set_reply_header(&self, header: impl Header) {
                if let Some(asker) = &self.current.asker {
                    asker.change_headers(&mut |headers| headers.insert(header.clone()));
                }
            }

            /// The asker's deadline, if it set one. Asks made while this message is handled inherit it.
            pub fn deadline(&self) -> Option<Instant> {
                self.current.asker.as_ref().and_then(|asker| asker.deadline())
            }

            /// Whether the asker no longer wants the reply. Always `false` for a told message.
            pub fn is_cancelled(&self) -> bool {
                self.current.asker.as_ref().is_some_and(|asker| asker.is_gone())
            }

            /// Completes when the asker no longer wants the reply: the ask was cancelled, timed out or was dropped.
            /// Never completes for a told message.
            pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<A> {
                self.cancellation().cancelled_owned()
            }

            /// The same as a token, to pass to other tasks.
            pub fn cancellation(&self) -> CancellationToken {
                self.current.asker.as_ref().map_or_else(CancellationToken::new, |asker| asker.gone())
            }
        }

        impl<A: Actor> fmt::Debug for $context<A> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($context)).field(&self.myself).finish()
            }
        }
    };
}

pub(super) use accessors;
