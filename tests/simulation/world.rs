//! A simulated deployment: clients with few contexts, processes that die, a store that forgets to answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a_functions::admission::{Admission, AdmissionError, Admitted, Slot, TurnRequest};
use a2a_functions::agents::{A2aEndpoint, Agent, ContextPolicy, HttpAuth};
use a2a_functions::clock::{Clock, Random, Timestamp};
use a2a_functions::context::{
    CompletedTurn, Conversation, LeaseTimes, ResolvedContext, ResolvedKind, StoredReply, TurnKey, session_id,
};
use a2a_functions::reply;
use a2a_functions::runner::{Runner, RunnerError, RunnerEvent, Turn};
use a2a_functions::store::memory::MemoryStore;
use a2a_functions::store::{Cursor, Etag, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError};
use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Semaphore;
use tokio::time::Instant;

const CONTEXTS: u64 = 2;
const CLIENTS: u64 = 4;
const TURNS_PER_CLIENT: u64 = 3;
const LEASE: Duration = Duration::from_secs(30);
/// A client gives a request up after this long and sends it again; what the process did meanwhile is unknown to it.
const PATIENCE: Duration = Duration::from_secs(90);

/// What happened over one or many runs.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) acknowledged: u64,
    pub(crate) replays: u64,
    pub(crate) crashes: u64,
    pub(crate) lost_answers: u64,
    pub(crate) takeovers: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.replays += other.replays;
        self.crashes += other.crashes;
        self.lost_answers += other.lost_answers;
        self.takeovers += other.takeovers;
    }
}

/// A run in which something that must hold did not.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) trace: Vec<String>,
}

/// Chance, the trace and the counts of one run.
#[derive(Debug)]
pub(crate) struct World {
    rng: Mutex<StdRng>,
    trace: Mutex<Vec<String>>,
    totals: Mutex<Totals>,
    started: Instant,
    /// Replies that clients were given: context, message id, reply.
    acknowledged: Mutex<Vec<(u64, String, StoredReply)>>,
}

impl World {
    /// Plays one run and checks it.
    pub(crate) fn run(seed: u64) -> Result<Totals, Failure> {
        Self::play(seed).map(|world| *world.totals.lock().unwrap())
    }

    /// Plays one run for its trace.
    pub(crate) fn trace(seed: u64) -> Result<Vec<String>, Failure> {
        Self::play(seed).map(|world| world.trace.lock().unwrap().clone())
    }

    fn play(seed: u64) -> Result<Arc<Self>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let world = Arc::new(Self {
                rng: Mutex::new(StdRng::seed_from_u64(seed)),
                trace: Mutex::default(),
                totals: Mutex::default(),
                started: Instant::now(),
                acknowledged: Mutex::default(),
            });
            let truth: Arc<dyn Store> = Arc::new(MemoryStore::new(world.clone()));
            let clients: Vec<_> =
                (0..CLIENTS).map(|client| tokio::spawn(converse(world.clone(), truth.clone(), client))).collect();
            for client in clients {
                client.await.map_err(|error| world.failure(format!("a client panicked: {error}")))?;
            }
            for context in 0..CONTEXTS {
                world.judge(&truth, context).await?;
            }
            Ok(world)
        })
    }

    fn failure(&self, what: String) -> Failure {
        Failure { what, trace: self.trace.lock().unwrap().clone() }
    }

    fn note(&self, event: &str) {
        let at = self.started.elapsed().as_millis();
        self.trace.lock().unwrap().push(format!("{at:>8} ms  {event}"));
    }

    fn chance(&self, probability: f64) -> bool {
        self.rng.lock().unwrap().random_bool(probability)
    }

    fn below(&self, bound: u64) -> u64 {
        self.rng.lock().unwrap().random_range(0..bound)
    }

    /// Holds what is stored of a context against what clients were told.
    async fn judge(self: &Arc<Self>, truth: &Arc<dyn Store>, context: u64) -> Result<(), Failure> {
        let look = conversation(self, truth.clone(), context).look().await.unwrap();
        let mut turns: Vec<CompletedTurn> = look.completed().cloned().collect();
        turns.reverse();
        let ids: Vec<&str> = turns.iter().map(|turn| turn.key.message_id.as_str()).collect();
        for (index, turn) in turns.iter().enumerate() {
            if ids[..index].contains(&ids[index]) {
                return Err(self.failure(format!("context {context} holds turn {} twice: {ids:?}", ids[index])));
            }
            // The agent's reply names the turns it saw: they must be exactly those that stand before it.
            let expected = format!("after {:?}", &ids[..index]);
            if turn.reply.text != expected {
                let text = &turn.reply.text;
                return Err(self.failure(format!("turn {} ran {text} and stands {expected}", ids[index])));
            }
        }
        for (_, message_id, reply) in self.acknowledged.lock().unwrap().iter().filter(|entry| entry.0 == context) {
            let stored = turns.iter().find(|turn| &turn.key.message_id == message_id).map(|turn| &turn.reply);
            if stored != Some(reply) {
                return Err(
                    self.failure(format!("turn {message_id} was acknowledged with {reply:?}, stored: {stored:?}"))
                );
            }
        }
        Ok(())
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(self.started.elapsed())
    }
}

impl Random for World {
    fn bytes16(&self) -> [u8; 16] {
        self.rng.lock().unwrap().random()
    }
}

fn times() -> LeaseTimes {
    LeaseTimes { duration: LEASE, retention: Duration::from_secs(86_400) }
}

fn session(context: u64) -> String {
    session_id("key:sim", "main", &format!("context-{context}"))
}

fn conversation(world: &Arc<World>, store: Arc<dyn Store>, context: u64) -> Conversation {
    Conversation::new(store, world.clone(), times(), &session(context)).unwrap()
}

/// One client: a few turns, each sent again and again until a reply arrives.
async fn converse(world: Arc<World>, truth: Arc<dyn Store>, client: u64) {
    for turn in 0..TURNS_PER_CLIENT {
        let context = world.below(CONTEXTS);
        let message_id = format!("c{client}t{turn}");
        for attempt in 0.. {
            assert!(attempt < 200, "client {client} never got a reply to {message_id}");
            let process =
                Process { world: world.clone(), truth: truth.clone(), name: format!("{message_id}#{attempt}") };
            match tokio::time::timeout(PATIENCE, process.serve(context, &message_id)).await {
                Ok(Ok(reply)) => {
                    world.note(&format!("{message_id}#{attempt} acknowledged"));
                    world.totals.lock().unwrap().acknowledged += 1;
                    world.acknowledged.lock().unwrap().push((context, message_id.clone(), reply));
                    break;
                }
                Ok(Err(error)) => world.note(&format!("{message_id}#{attempt} failed: {error}")),
                Err(_) => world.note(&format!("{message_id}#{attempt} died or was given up")),
            }
            tokio::time::sleep(Duration::from_millis(world.below(5_000))).await;
        }
        // Now and then an answered turn is sent once more: its answer must be the same.
        if world.chance(0.2) {
            let process = Process { world: world.clone(), truth: truth.clone(), name: format!("{message_id}#again") };
            if let Ok(Ok(reply)) = tokio::time::timeout(PATIENCE, process.serve(context, &message_id)).await {
                world.acknowledged.lock().unwrap().push((context, message_id.clone(), reply));
            }
        }
    }
}

/// One process that serves one request; it may die at any storage call.
#[derive(Debug, Clone)]
struct Process {
    world: Arc<World>,
    truth: Arc<dyn Store>,
    name: String,
}

impl Process {
    async fn serve(self, context: u64, message_id: &str) -> Result<StoredReply, String> {
        let world = self.world.clone();
        let store: Arc<dyn Store> = Arc::new(self.clone());
        let admission = Admission::new(store, world.clone(), world.clone(), times());
        let resolved = ResolvedContext {
            id: format!("context-{context}"),
            session_id: session(context),
            kind: ResolvedKind::Continued,
        };
        let deadline = Instant::now() + Duration::from_secs(80);
        let request = TurnRequest {
            context: &resolved,
            key: TurnKey { message_id: message_id.to_owned(), payload_hash: [0; 32] },
            context_wait: Duration::from_secs(world.below(40)),
            deadline,
            exclusive: false,
        };
        let mut permit = match admission.admit(request).await {
            Ok(Admitted::Replay(reply)) => {
                world.totals.lock().unwrap().replays += 1;
                return Ok(reply);
            }
            Ok(Admitted::Run(permit)) => permit,
            Err(AdmissionError::ContextBusy) => return Err("busy".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let mut slot = Slot::enter(&Arc::new(Semaphore::new(1)), 1, None).await.map_err(|error| error.to_string())?;
        let history = permit.take_history();
        world.note(&format!("{} runs after {} turns", self.name, history.len()));
        let seen: Vec<&str> = history.iter().map(|turn| turn.key.message_id.as_str()).collect();
        let turn = Turn {
            agent: agent(),
            history: Vec::new(),
            prompt: format!("after {seen:?}"),
            deadline,
            session_id: resolved.session_id.clone(),
        };
        let answer = reply::collect(&Parrot(world.clone()), turn, &mut permit, &mut slot).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let reply = StoredReply { message_id: world.id(), text: answer.text };
        permit.commit(message_id.to_owned(), reply.clone()).await.map_err(|error| error.to_string())?;
        Ok(reply)
    }

    /// A storage call of this process: takes its time, and may be the last thing the process does.
    async fn call<T>(&self, what: &str, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        tokio::time::sleep(Duration::from_millis(self.world.below(40))).await;
        if self.world.chance(0.02) {
            self.die(&format!("before {what}")).await;
        }
        if self.world.chance(0.03) {
            self.world.note(&format!("{} {what}: not sent", self.name));
            return Err(unavailable());
        }
        // A paused process wakes up with a lease that is no longer its own.
        if self.world.chance(0.01) {
            self.world.note(&format!("{} pauses before {what}", self.name));
            tokio::time::sleep(LEASE + Duration::from_secs(self.world.below(20))).await;
        }
        let answer = call.await;
        let seen = match &answer {
            Ok(_) => "done".to_owned(),
            Err(error) => error.to_string(),
        };
        self.world.note(&format!("{} {what}: {seen}", self.name));
        tokio::time::sleep(Duration::from_millis(self.world.below(40))).await;
        if self.world.chance(0.02) {
            self.die(&format!("after {what}")).await;
        }
        if self.world.chance(0.04) {
            self.world.note(&format!("{} {what}: the answer is lost", self.name));
            self.world.totals.lock().unwrap().lost_answers += 1;
            return Err(unavailable());
        }
        answer
    }

    async fn die(&self, when: &str) {
        self.world.note(&format!("{} dies {when}", self.name));
        self.world.totals.lock().unwrap().crashes += 1;
        // Whatever waits for this process is dropped when its client runs out of patience: nothing of it runs any more.
        std::future::pending::<()>().await;
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable { reason: "simulated".to_owned(), retry_after: None }
}

#[async_trait]
impl Store for Process {
    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        self.call("get", self.truth.get(partition, row)).await
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        self.call("scan", self.truth.scan(partition, range, limit, cursor)).await
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        let what = ops.iter().map(|op| op.row().as_str()).collect::<Vec<_>>().join("+");
        let done = self.call(&format!("commit {what}"), self.truth.commit(partition, ops)).await?;
        if matches!(ops, [Op::Replace { .. }, Op::Insert(_)]) {
            self.world.totals.lock().unwrap().takeovers += 1;
        }
        Ok(done)
    }
}

/// An agent that answers its prompt, in pieces and in its own time: now and then longer than a lease lasts.
#[derive(Debug)]
struct Parrot(Arc<World>);

impl Runner for Parrot {
    fn run(&self, turn: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>> {
        let world = self.0.clone();
        let pause = if world.chance(0.1) { 45_000 } else { 2_000 };
        let middle = turn.prompt.len() / 2;
        let (first, second) = turn.prompt.split_at(middle);
        let events =
            [RunnerEvent::TextDelta(first.to_owned()), RunnerEvent::TextDelta(second.to_owned()), RunnerEvent::Done];
        stream::iter(events)
            .then(move |event| {
                let pause = Duration::from_millis(world.below(pause));
                async move {
                    tokio::time::sleep(pause).await;
                    Ok(event)
                }
            })
            .boxed()
    }
}

fn agent() -> Arc<Agent> {
    Arc::new(Agent {
        slug: "main".to_owned(),
        name: "Main".to_owned(),
        description: "Simulated.".to_owned(),
        instructions: String::new(),
        source_file: "main.agent.md".to_owned(),
        model: None,
        timeout: Duration::from_secs(80),
        max_output_tokens: None,
        http_auth: HttpAuth::default(),
        a2a: Some(A2aEndpoint {
            url: "http://localhost:7071/agents/main/a2a".to_owned(),
            context: ContextPolicy::Principal,
            context_wait: Duration::from_secs(10),
        }),
    })
}
