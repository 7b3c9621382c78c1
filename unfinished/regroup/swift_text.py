"""What can be read from a Swift file without a compiler."""
import re

IMPORT = re.compile(
    r"^(?P<indent> *)(?P<attributes>(?:@\w+(?:\([^)]*\))? +)*)(?P<access>(?:public |package |internal |private |fileprivate )?)"
    r"import (?P<kind>(?:struct |class |enum |func |protocol |typealias |let |var )?)(?P<module>\w+)(?P<member>(?:\.\w+)?)\s*$")
DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? +)*(?:(?:public|package|internal|open|final|indirect|nonisolated|unsafe) +)*"
    r"(?:struct|class|enum|protocol|actor|typealias|func|let|var) +(\w+)", re.MULTILINE)


def code(text):
    """The text without comments and strings; lines keep their numbers."""
    text = re.sub(r'#?"""(.*?)"""#?', lambda found: '""' + "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r'#"(.*?)"#', '""', text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def code_words(text):
    return set(re.findall(r"\w+", code(text)))


def declared_names(text):
    """The names that a file declares outside of types, without private ones."""
    return set(DECLARATION.findall(code(text)))


def import_lines(lines):
    """The numbers of the lines that import something: not those within a text of several lines."""
    found, is_string = [], False
    for number, line in enumerate(lines):
        if not is_string and IMPORT.match(line):
            found.append(number)
        if line.count('"""') % 2:
            is_string = not is_string
    return found
