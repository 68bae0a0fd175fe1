"""Runs the programs of the tool PythonInterpreter: python3 -I -B -X utf8 -c DRIVER once|session

A program comes on the standard input as a line "TOKEN LENGTH" and LENGTH bytes. It runs as __main__, with an empty
input of its own; what it prints goes to the standard output and error as it is. How it ended is reported on the error
stream, in a line that begins with U+001E and the token and goes on with JSON: {"exception", "message", "line"} or
{"exit"}, both absent after a good end.

once     one program; then this process ends as any interpreter does, with the program's exit code.
session  one program after another in the same namespace. The end of each is marked on both streams.

A process that the program forked and did not end comes out of the program too: it ends there, without a report.
"""
import linecache
import os
import sys
import traceback
import types
from json import dumps  # by its own name, since a program may put another into the module

SEPARATOR = b"\x1e"
MAX_MESSAGE = 500


def read_line(source):
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(source, 1)
        if not byte:
            return None
        line += byte
    return line


def read_program(source):
    """The next token and program, or None at the end."""
    line = read_line(source)
    if line is None:
        return None
    token, length = line.split()
    left = int(length)
    pieces = []
    while left > 0:
        piece = os.read(source, left)
        if not piece:
            return None
        pieces.append(piece)
        left -= len(piece)
    return token, b"".join(pieces).decode("utf-8", "replace")


def write_all(target, data):
    while data:
        data = data[os.write(target, data):]


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # the program may have closed or replaced it
            pass


def line_of(error, name):
    """The line of the program that was being run, or could not be read."""
    if isinstance(error, SyntaxError) and error.filename == name:
        return error.lineno
    line, frame = None, error.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == name:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def text_of(error):
    if isinstance(error, SyntaxError):
        return str(error.msg)[:MAX_MESSAGE]  # without the place, which is told apart
    try:
        return str(error)[:MAX_MESSAGE]
    except Exception:
        return ""


def show(error, compiled):
    """Prints the traceback without the frames of this file."""
    try:
        frames = error.__traceback__.tb_next if compiled and error.__traceback__ else None
        traceback.print_exception(type(error), error, frames)
    except BaseException:  # no memory left to say more, or an exception that cannot be shown
        write_all(2, b"%s\n" % type(error).__name__.encode("utf-8", "replace"))


def exit_code(error):
    """As the interpreter does at its end."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xff
    print(error.code, file=sys.stderr)
    return 1


def run(program, name, namespace):
    """Runs a program and returns the report of its end."""
    program = program.removeprefix("\ufeff")  # of a file that came from Windows
    linecache.cache[name] = (len(program), None, program.splitlines(True), name)
    compiled = False
    try:
        code = compile(program, name, "exec", dont_inherit=True)
        compiled = True
        exec(code, namespace)
    except SystemExit as error:
        return {"exit": exit_code(error)}
    except BaseException as error:
        report = {"exception": type(error).__name__, "message": text_of(error), "line": line_of(error, name)}
        show(error, compiled)
        return report
    return {}


def save(name, program):
    """Leaves the program in the working folder, where the processes it spawns look for it."""
    try:
        with open(name, "w", encoding="utf-8") as file:
            file.write(program)
    except (OSError, UnicodeError):
        pass


def take_streams():
    """Puts the requests aside and gives the program an empty input. Returns our own ends of all three streams."""
    ends = [os.dup(number) for number in range(3)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)
    return ends


def main(mode):
    requests, output, errors = take_streams()
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.path.insert(0, os.getcwd())
    owner = os.getpid()
    count = 0
    while True:
        request = read_program(requests)
        if request is None:
            return 0
        token, program = request
        count += 1
        name = "main.py" if mode == "once" else "call-%d.py" % count
        sys.argv = [name]
        module.__file__ = name
        if mode == "once":
            save(name, program)
        report = run(program, name, module.__dict__)
        flush()
        code = 1 if "exception" in report else report.get("exit", 0)
        if os.getpid() != owner:
            return code
        end = SEPARATOR + token + b" " + dumps(report).encode() + b"\n"
        if mode == "once":
            write_all(errors, end)
            return code
        write_all(output, SEPARATOR + token + b"\n")
        write_all(errors, end)
        os.dup2(output, 1)
        os.dup2(errors, 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
