"""Records what an application and a real node send each other, and replays the node's responses."""

from cassandra.testing.replay.node import ReplayNode
from cassandra.testing.replay.recorder import Recorder
from cassandra.testing.replay.recording import Exchange, Recording, RecordingError

__all__ = ["Exchange", "Recorder", "Recording", "RecordingError", "ReplayNode"]
