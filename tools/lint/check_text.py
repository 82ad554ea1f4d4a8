#!/usr/bin/env python3
"""Text that no file may have: paths of one machine, marks of unfinished work,
tabs and trailing spaces in sources, sentences of comments that begin with "What"
or "Of" and are no questions."""
import io
import re
import tokenize

import tree

PATHS = re.compile(rb"(?<![A-Za-z0-9_.])/(?:work|farm|root|home|opt/zc\w*)/")
# Spelled in pieces, so that this file does not complain about itself.
UNFINISHED = re.compile("|".join((
    r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b", r"\bplace" r"holder\b",
    r"\bfor n" r"ow\b", r"\bnot imple" r"mented\b", r"\bunimple" r"mented\b",
)), re.IGNORECASE)
SOURCES = {".h", ".cpp", ".cu", ".td", ".py", ".sh", ".cmake", ".mlir",
           ".proto", ".test", ".onnxtext"}
SLASHES = re.compile(r"(?:^|\s)//+ +(.*)")
SLASHED = {".h", ".cpp", ".cu", ".td", ".mlir", ".proto"}
HEADLESS = re.compile(r"(?:^|[.!?] )((?:What|Of) [^.!]*)")


def comments(suffix, text):
    """The comments of a source: (line number, text). Lines of comment right
    below each other are one, up to an empty one or a rule."""
    found = []
    if suffix == ".py":
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    found.append((token.start[0], token.string.strip("# "),
                                  not token.line[:token.start[1]].strip()))
        except (tokenize.TokenError, SyntaxError):
            return
    elif suffix in SLASHED:
        for number, line in enumerate(text.splitlines(), 1):
            match = SLASHES.search(line)
            if match:
                found.append((number, match.group(1),
                              not line[:match.start()].strip()))
    first, last, joined = 0, 0, ""
    for number, words, is_whole_line in found:
        if joined and is_whole_line and number == last + 1:
            joined += " " + words
        else:
            if joined:
                yield first, joined
            first, joined = number, words
        last = number if words.strip("-= ") else 0
    if joined:
        yield first, joined


def check_comments(name, suffix, text):
    for number, comment in comments(suffix, text):
        for sentence in HEADLESS.findall(comment):
            if "?" not in sentence:
                yield (f'{name}:{number}: a sentence begins with "'
                       f'{sentence[:20]}..."; begin with its subject')


def check_source(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        mark = UNFINISHED.search(line)
        if mark:
            yield f'{name}:{number}: "{mark.group()}" marks unfinished work'
        if "\t" in line:
            yield f"{name}:{number}: a tab"
        if line != line.rstrip():
            yield f"{name}:{number}: a space at the end of the line"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"


def check(root):
    for path in tree.files(root, None):
        name, data = path.relative_to(root), path.read_bytes()
        found = PATHS.search(data)
        if found:
            yield f'{name}: "{found.group().decode()}" is one machine\'s path'
        if path.suffix in SOURCES:
            text = data.decode(errors="replace")
            yield from check_source(name, text)
            yield from check_comments(name, path.suffix, text)


if __name__ == "__main__":
    tree.run("text", check)
