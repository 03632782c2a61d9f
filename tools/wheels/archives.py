"""Writes archives whose bytes are the same at every build.

For that, all files have the same time and no owner, and are in a fixed order.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

# 1980-01-01, the earliest time that a zip file can store, in seconds since 1970.
ZIP_BEGINS = 315532800


def repack_sdist(sdist: Path, epoch: int) -> None:
    """Rewrite a source distribution in place, with the same time for all files and no owners.

    :param sdist: the ``.tar.gz`` file.
    :param epoch: the time, in seconds.
    """
    uncompressed = io.BytesIO()
    with (
        tarfile.open(sdist) as old_archive,
        tarfile.open(fileobj=uncompressed, mode="w") as new_archive,
    ):
        for member in sorted(old_archive.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid = epoch, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            content = old_archive.extractfile(member) if member.isfile() else None
            new_archive.addfile(member, content)
    with sdist.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as compressed:
        compressed.write(uncompressed.getvalue())


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the contents of a wheel's files by name, without RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")
        }


def info_of(files: Mapping[str, bytes]) -> str:
    """Return the name of a wheel's ``.dist-info`` folder."""
    return next(name for name in files if name.endswith(".dist-info/WHEEL")).partition("/")[0]


def write_wheel(
    files: Mapping[str, bytes], python: str, abi: str, platforms: tuple[str, ...], epoch: int,
    folder: Path,
) -> Path:  # fmt: skip
    """Write a wheel and return its path.

    :param files: the contents of the files by name. WHEEL is replaced, and RECORD is added.
    :param python: the Python part of the wheel's tag, such as ``cp313``.
    :param abi: the ABI part of the tag, such as ``cp313t``.
    :param platforms: the platforms in the tag. A wheel may name several.
    :param epoch: the time of all files, in seconds.
    :param folder: where to write it.
    """
    info_folder = info_of(files)
    contents = dict(files)
    contents[f"{info_folder}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: turbocql build_wheels\n"
        f"Root-Is-Purelib: {'true' if platforms == ('any',) else 'false'}\n"
        + "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms)
    ).encode()
    # Put the metadata last, so that installers that read an archive from its end find it at once.
    names = sorted(contents, key=lambda name: (name.startswith(info_folder), name))
    record = "".join(f"{name},sha256={_digest(contents[name])},{len(contents[name])}\n"
                     for name in names)  # fmt: skip
    contents[f"{info_folder}/RECORD"] = f"{record}{info_folder}/RECORD,,\n".encode()
    name_and_version = info_folder.removesuffix(".dist-info")
    path = folder / f"{name_and_version}-{python}-{abi}-{'.'.join(platforms)}.whl"
    zip_time = time.gmtime(max(epoch, ZIP_BEGINS))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in [*names, f"{info_folder}/RECORD"]:
            member = zipfile.ZipInfo(name, zip_time)
            member.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(member, contents[name], zipfile.ZIP_DEFLATED, 9)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
