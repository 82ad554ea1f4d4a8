#!/usr/bin/env python3
"""Text that no file may have: paths of one machine, marks of unfinished work,
tabs and trailing spaces in sources, sentences of comments and pages that begin
with "What" or "Of" and are no questions, comments and paragraphs that begin
with "Those", "Which", "Who", "Whose" or "That": a reader of one comment does not
know who they are."""
import ast
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
HASHES = re.compile(r"(?:^|\s)#+ +(.*)")
SLASHED = {".h", ".cpp", ".cu", ".td", ".mlir", ".proto"}
HASHED = {".sh", ".cmake", ".txt"}
HEADLESS = re.compile(r"(?:^|[.!?] )((?:What|Of) [^.!]*)"
                      r"|^((?:Those|Which|Whose|Who|That)\b[^.!]*)")


def mark_of(path, text):
    """The language of a file by how its comments are marked; "" for none."""
    first = text.partition("\n")[0]
    if path.suffix == ".py" or re.match("#!.*python", first):
        return "python"
    if path.suffix in SLASHED:
        return "//"
    if path.suffix in HASHED or first.startswith("#!"):
        return "#"
    return "page" if path.suffix == ".md" else ""


def python_comments(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield (token.start[0], token.string.strip("# "),
                   not token.line[:token.start[1]].strip())


def marked_comments(pattern, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = pattern.search(line)
        if match:
            yield number, match.group(1), not line[:match.start()].strip()


def join(lines):
    """Lines of comment right below each other are one, up to an empty one or a
    rule."""
    first, last, joined = 0, 0, ""
    for number, words, is_whole_line in lines:
        if joined and is_whole_line and number == last + 1:
            joined += " " + words
        else:
            if joined:
                yield first, joined
            first, joined = number, words
        last = number if words.strip("-= ") else 0
    if joined:
        yield first, joined


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            words = ast.get_docstring(node)
            if words:
                yield node.body[0].lineno, " ".join(words.split())


def paragraphs(text):
    """The paragraphs of a page, without its headings and blocks of code; a cell
    of a table is one."""
    text = re.sub(r"^```.*?^```|^#[^\n]*",
                  lambda code: "\n" * code.group().count("\n"), text,
                  flags=re.DOTALL | re.MULTILINE)
    for match in re.finditer(r"(?:[^\n|]+\n?)+", text):
        words = " ".join(match.group().split()).lstrip("-*#0123456789. ")
        yield text[:match.start()].count("\n") + 1, words


def descriptions(text):
    """Summaries and descriptions of ops and passes, by their paragraphs."""
    for match in re.finditer(r'let summary = "([^"]*)"', text):
        words = match.group(1)
        yield (text[:match.start()].count("\n") + 1,
               words[:1].upper() + words[1:])
    for match in re.finditer(r"let description = \[\{(.*?)\}\]", text,
                             re.DOTALL):
        first = text[:match.start()].count("\n")
        body = "\n".join(line.strip() for line in
                         match.group(1).split("\n"))
        for number, words in paragraphs(body):
            yield first + number, words


def comments(mark, text):
    """The comments of a source, the paragraphs of a page or of a description:
    (line number, text)."""
    yield from descriptions(text)
    if mark == "python":
        try:
            yield from join(python_comments(text))
            yield from docstrings(text)
        except (tokenize.TokenError, SyntaxError):
            return
    elif mark == "page":
        yield from paragraphs(text)
    elif mark:
        yield from join(marked_comments(SLASHES if mark == "//" else HASHES,
                                        text))


def check_comments(name, mark, text):
    for number, comment in comments(mark, text):
        for match in HEADLESS.finditer(comment):
            sentence = match.group(1) or match.group(2)
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
        text = data.decode(errors="replace")
        if path.suffix in SOURCES:
            yield from check_source(name, text)
        yield from check_comments(name, mark_of(path, text), text)


if __name__ == "__main__":
    tree.run("text", check)
