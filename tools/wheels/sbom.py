"""Creates the software bill of materials (SBOM) of a wheel: a CycloneDX document (PEP 770)."""

from __future__ import annotations

import json
import re
import time
import uuid
from email.parser import BytesParser


def document(metadata: bytes, epoch: int, tools: dict[str, str], tag: str) -> bytes:
    """Return the bill of materials of a wheel, as JSON.

    :param metadata: the wheel's METADATA file, which names its dependencies.
    :param epoch: the time of the build, in seconds since 1970.
    :param tools: versions of the tools that the wheel was built with, by name.
    :param tag: the wheel's tag, which makes the document's serial number unique.
    """
    fields = BytesParser().parsebytes(metadata)
    name, version = fields["Name"], fields["Version"]
    # Take the names of the required packages, without versions and without those of extras.
    requirements = [line for line in fields.get_all("Requires-Dist", []) if "extra ==" not in line]
    package_names = [re.split(r"[ <>=!~;\[(]", line, maxsplit=1)[0] for line in requirements]
    purl = f"pkg:pypi/{name}@{version}"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # The serial number is computed, not random, so that each build of a wheel has the same.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl}#{epoch}#{tag}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "tools": {
                "components": [
                    {"type": "application", "name": tool, "version": tool_version}
                    for tool, tool_version in sorted(tools.items())
                ]
            },
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": version,
                "purl": purl,
                "licenses": [{"license": {"id": fields["License-Expression"]}}],
            },
        },
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{package}",
                "name": package,
                "purl": f"pkg:pypi/{package}",
            }
            for package in package_names
        ],
        "dependencies": [
            {"ref": purl, "dependsOn": [f"pkg:pypi/{package}" for package in package_names]}
        ],
    }
    return json.dumps(bill, indent=2).encode() + b"\n"
