"""The list of what a package holds, as SPDX 2.3 in JSON."""
import hashlib
import json
import re


def _id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def _package(name, version, licence, url):
    return {"SPDXID": _id(name), "name": name, "versionInfo": version,
            "downloadLocation": url, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "filesAnalyzed": False, "externalRefs": []}


def _component(part):
    package = _package(part.name, part.version, part.licence, "NOASSERTION")
    kind = "pypi" if part.name == "onnx" else "deb/debian"
    package["externalRefs"] = [{
        "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
        "referenceLocator": f"pkg:{kind}/{part.name}@{part.version}"}]
    if part.files:
        package["comment"] = "files: " + ", ".join(part.files)
    return package


def _relation(one, kind, other):
    return {"spdxElementId": _id(one), "relationshipType": kind,
            "relatedSpdxElement": _id(other)}


def write(name, version, licence, components):
    """The text of the list."""
    identity = repr([(part.name, part.version) for part in components])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
        "documentNamespace": f"urn:zc:{name}:{version}:{digest}",
        "creationInfo": {"created": "1980-01-01T00:00:00Z",
                         "creators": ["Tool: tools/package"]},
        "packages": [_package(name, version, licence, "NOASSERTION"),
                     *map(_component, components)],
        "relationships": [
            _relation("DOCUMENT", "DESCRIBES", name),
            *(_relation(name, "CONTAINS" if part.files else "STATIC_LINK",
                        part.name) for part in components)],
    }
    return json.dumps(document, indent=1) + "\n"
