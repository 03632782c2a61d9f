"""Converters between an application's values and CQL values: see `CodecRegistry`."""

from cassandra._foreign import check_files
from cassandra.codecs.converter import Converter
from cassandra.codecs.registry import CodecRegistry

check_files()

__all__ = ["CodecRegistry", "Converter"]
