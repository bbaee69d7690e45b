"""The Agent-Reach layer: registry, router, slots, executor and feedback, usable without the rest of reach-tui."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # each name is imported when it is first used: `import reach_tui.reach` costs nothing
    from reach_tui.model import Thresholds as Thresholds
    from reach_tui.reach.asking import Asking as Asking
    from reach_tui.reach.asking import Clarification as Clarification
    from reach_tui.reach.asking import Filler as Filler
    from reach_tui.reach.asking import Routes as Routes
    from reach_tui.reach.auth import Auth as Auth
    from reach_tui.reach.auth import AuthFailed as AuthFailed
    from reach_tui.reach.auth import Secret as Secret
    from reach_tui.reach.auth import Token as Token
    from reach_tui.reach.auth import TokenRequest as TokenRequest
    from reach_tui.reach.breaker import Breaker as Breaker
    from reach_tui.reach.breaker import Breakers as Breakers
    from reach_tui.reach.breaker import BreakerSettings as BreakerSettings
    from reach_tui.reach.breaker import BreakerState as BreakerState
    from reach_tui.reach.budget import ChainBudget as ChainBudget
    from reach_tui.reach.decision import NoCapability as NoCapability
    from reach_tui.reach.decision import Why as Why
    from reach_tui.reach.decision import decide as decide
    from reach_tui.reach.dictionary import BusinessDictionary as BusinessDictionary
    from reach_tui.reach.embedding import EmbeddingRecall as EmbeddingRecall
    from reach_tui.reach.endpoint import EndpointScorer as EndpointScorer
    from reach_tui.reach.endpoint import ScoreCache as ScoreCache
    from reach_tui.reach.entities import EntityLog as EntityLog
    from reach_tui.reach.events import EventLog as EventLog
    from reach_tui.reach.events import Recorder as Recorder
    from reach_tui.reach.executor import Caller as Caller
    from reach_tui.reach.executor import Executor as Executor
    from reach_tui.reach.executor import Outcome as Outcome
    from reach_tui.reach.feedback import Failure as Failure
    from reach_tui.reach.feedback import Violation as Violation
    from reach_tui.reach.filters import Left as Left
    from reach_tui.reach.filters import RouteContext as RouteContext
    from reach_tui.reach.handle import Answered as Answered
    from reach_tui.reach.handle import Handle as Handle
    from reach_tui.reach.interface import Reach as Reach
    from reach_tui.reach.lexical import LexicalIndex as LexicalIndex
    from reach_tui.reach.problems import Problem as Problem
    from reach_tui.reach.problems import RegistryError as RegistryError
    from reach_tui.reach.rate_limit import Limiter as Limiter
    from reach_tui.reach.rate_limit import LocalLimiter as LocalLimiter
    from reach_tui.reach.rate_limit import TokenBucket as TokenBucket
    from reach_tui.reach.recall import LexicalRecall as LexicalRecall
    from reach_tui.reach.recall import Recall as Recall
    from reach_tui.reach.recall import RecordedScores as RecordedScores
    from reach_tui.reach.recall import Scorer as Scorer
    from reach_tui.reach.recall import ScoringFailed as ScoringFailed
    from reach_tui.reach.redis_limit import RedisLimiter as RedisLimiter
    from reach_tui.reach.registry import FolderRegistry as FolderRegistry
    from reach_tui.reach.registry import ToolList as ToolList
    from reach_tui.reach.registry import load_tools as load_tools
    from reach_tui.reach.router import Router as Router
    from reach_tui.reach.router import Routing as Routing
    from reach_tui.reach.slots import Filling as Filling
    from reach_tui.reach.slots import SlotFiller as SlotFiller
    from reach_tui.reach.spec import HttpEndpoint as HttpEndpoint
    from reach_tui.reach.spec import IntentRule as IntentRule
    from reach_tui.reach.spec import PythonEndpoint as PythonEndpoint
    from reach_tui.reach.spec import RateLimit as RateLimit
    from reach_tui.reach.spec import Registry as Registry
    from reach_tui.reach.spec import RetryPolicy as RetryPolicy
    from reach_tui.reach.spec import SampleCall as SampleCall
    from reach_tui.reach.spec import SlotSource as SlotSource
    from reach_tui.reach.spec import ToolSpec as ToolSpec
    from reach_tui.reach.transport import Answer as Answer
    from reach_tui.reach.transport import HttpTransport as HttpTransport
    from reach_tui.reach.transport import ToolFault as ToolFault

_NAMES_OF = {
    "slots": "Filling SlotFiller",
    "entities": "EntityLog",
    "dictionary": "BusinessDictionary",
    "asking": "Asking Clarification Filler Routes",
    "auth": "Auth AuthFailed Secret Token TokenRequest",
    "breaker": "Breaker Breakers BreakerSettings BreakerState",
    "budget": "ChainBudget",
    "events": "EventLog Recorder",
    "executor": "Caller Executor Outcome",
    "feedback": "Failure Violation",
    "handle": "Answered Handle",
    "interface": "Reach",
    "rate_limit": "Limiter LocalLimiter TokenBucket",
    "redis_limit": "RedisLimiter",
    "transport": "Answer HttpTransport ToolFault",
    "decision": "NoCapability Thresholds Why decide",
    "embedding": "EmbeddingRecall",
    "endpoint": "EndpointScorer ScoreCache",
    "filters": "Left RouteContext",
    "lexical": "LexicalIndex",
    "problems": "Problem RegistryError",
    "recall": "LexicalRecall Recall RecordedScores Scorer ScoringFailed",
    "registry": "FolderRegistry ToolList load_tools",
    "router": "Router Routing",
    "spec": ("HttpEndpoint IntentRule PythonEndpoint RateLimit Registry RetryPolicy SampleCall SlotSource ToolSpec"),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULE_OF]
