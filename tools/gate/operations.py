#!/usr/bin/python3
"""Records what mistakes give that the catalogue lacks: one operation each on a lesson's solution, such as a factor left out.

    operations.py [NN ...]     writes tests/NN_name/operations.json of all lessons, or of these

The edits are made of what clang parses in the solution. Those that compile are linked into one program, as the catalogued
mistakes are, which `gate record-operations` runs. What no check rejects is listed in build/dev/operations/NN/survivors.txt:
a hole in the checks, or an edit that changes nothing. Needs Debian's python3-clang-14, and `./learn verify --lesson NN` first.
"""

import json
import pathlib
import re
import subprocess
import sys

from clang.cindex import CursorKind as Kind, Index

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"
FLAGS = ["-x", "c++", "-std=c++17", f"-I{ROOT}/include", "-isystem", f"{ROOT}/build/dev/armadillo"]
FLAGS += ["-DARMA_DONT_USE_WRAPPER", "-DARMA_DONT_USE_CXX11_RNG"]

FUNCTIONS = (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR)
LOOPS = (Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT, Kind.CXX_FOR_RANGE_STMT)
OTHERS = {  # of a name, those that it is mistaken for
    "n_rows": ("n_cols", "n_slices"), "n_cols": ("n_rows", "n_slices"), "n_slices": ("n_cols", "n_rows"),
    "row": ("col",), "col": ("row",), "each_row": ("each_col",), "each_col": ("each_row",), "rows": ("cols",),
    "cols": ("rows",), "head": ("tail",), "tail": ("head",), "head_rows": ("tail_rows",), "min": ("max",),
    "max": ("min",), "sin": ("cos",), "cos": ("sin",), "accu": ("max",), "sum": ("mean", "max"), "square": ("abs",),
    "exp": ("exp2",), "exp2": ("exp",), "front": ("back",), "back": ("front",), "floor": ("ceil",), "ceil": ("floor",),
    "tanh": ("sin",), "log": ("log2",), "join_rows": ("join_cols",), "join_cols": ("join_rows",),
}  # fmt: skip
OPERATORS = {  # of an operator, those that it is mistaken for
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",), "<": ("<=",), "<=": ("<",), ">": (">=",),
    ">=": (">",), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",), "+=": ("-=", "="), "-=": ("+=", "="),
    "*=": ("/=", "="), "/=": ("*=", "="), "%=": ("=",),
}  # fmt: skip
LEFT_OUT = {  # what is not done when the right operand of an operator is missing
    "+": "`{b}` is not added to `{a}`", "-": "`{b}` is not subtracted from `{a}`", "*": "`{a}` is not multiplied by `{b}`",
    "/": "`{a}` is not divided by `{b}`", "%": "`{a}` is not multiplied by `{b}`", "&&": "it is not asked whether `{b}`",
    "||": "it is not asked whether `{b}`",
}  # fmt: skip


def plain(code):
    """Code as a sentence quotes it: on one line, without what only the compiler needs."""
    code = re.sub(r"//[^\n]*", " ", code)
    code = re.sub(r"\s+", " ", code).strip(" ;")
    code = re.sub(r"\b(?:arma|std|attn)::", "", code)
    for _ in range(3):
        code = re.sub(r"(?:static_cast<[\w: ]+>|\bmove)\(((?:[^()]|\([^()]*\))*)\)", r"\1", code)
    return re.sub(r"\.slice\(([bn])\)", "", code)


def type_of(cursor):
    return re.sub(r"\bconst\b|&| ", "", cursor.type.get_canonical().spelling)


def alike(a, b):
    """Whether one name is written for the other: both are short, or they share a word."""
    return max(len(a), len(b)) <= 2 or bool(set(a.lower().strip("_").split("_")) & set(b.lower().strip("_").split("_")))


class File:
    """A file of the solution, and the edits that can be made in it."""

    def __init__(self, path):
        self.path = path
        self.bytes = path.read_bytes()
        self.edits = {}  # by what they make of the file
        unit = Index.create().parse(str(path), args=FLAGS)
        errors = [str(problem) for problem in unit.diagnostics if problem.severity >= 3]
        if errors:
            sys.exit("\n".join(errors))
        self.visit_functions(unit.cursor)

    def text(self, cursor):
        return self.bytes[cursor.extent.start.offset : cursor.extent.end.offset].decode()

    def add(self, cursor, code, says=None, rank=None):
        self.replace(cursor.extent.start.offset, cursor.extent.end.offset, code, says, rank)

    def replace(self, begin, end, code, says=None, rank=None):
        """Replaces bytes. Where there is no better sentence, it shows the smallest expression that tells what changed."""
        rank = rank if rank is not None else 1 if says is None else 0
        if says is None or len(says) > 150:
            for around in reversed(self.path_to_here):
                first, last = around.extent.start.offset, around.extent.end.offset
                if first > begin or last < end or (first, last) == (begin, end) and around.kind == Kind.DECL_REF_EXPR:
                    continue
                right = self.bytes[first:last].decode()
                wrong = (self.bytes[first:begin] + code.encode() + self.bytes[end:last]).decode()
                if len(plain(right)) < 8 or "bound member" in around.type.spelling:
                    continue
                if plain(right) != plain(wrong) and len(plain(right)) <= 75 and "\n" not in wrong.strip():
                    says = f"`{plain(wrong)}` instead of `{plain(right)}`"
                break
        if says is None or len(says) > 180 or self.bytes[begin:end].decode() == code:
            return
        wrong = self.bytes[:begin] + code.encode() + self.bytes[end:]
        self.edits.setdefault(wrong, (begin, end, code, self.place + says, rank))

    # ------------------------------------------------------------------------------------------------ the tree

    def visit_functions(self, cursor):
        for child in cursor.get_children():
            if child.location.file is None or child.location.file.name != str(self.path):
                continue
            if child.kind in FUNCTIONS and child.is_definition():
                self.function = child
                public = child.canonical.location.file.name != str(self.path)
                self.place = f"in `{child.spelling}`, " if public and child.kind != Kind.CONSTRUCTOR else ""
                if child.kind == Kind.CONSTRUCTOR:
                    self.place = "in the constructor, "
                self.known = []  # variables that are visible
                self.path_to_here = []
                self.visit(child)
            elif child.kind in (Kind.NAMESPACE, Kind.CLASS_DECL, Kind.STRUCT_DECL):
                self.visit_functions(child)

    def is_here(self, cursor):
        start, end = cursor.extent.start, cursor.extent.end
        return end.offset > start.offset and start.file is not None and start.file.name == str(self.path)

    def visit(self, cursor):
        children = [child for child in cursor.get_children() if self.is_here(child)]
        kind = cursor.kind
        if kind == Kind.CXX_THROW_EXPR or kind == Kind.LAMBDA_EXPR and len(self.text(cursor)) > 400:
            return
        is_checking = kind == Kind.CALL_EXPR and re.match(
            r"(attn::)?require_(?!multiple|positive)", cursor.spelling or ""
        )
        self.path_to_here.append(cursor)
        if kind in (Kind.VAR_DECL, Kind.PARM_DECL):
            self.known.append(cursor)
            self.declaration(cursor, children)
        visible = len(self.known)
        if kind == Kind.COMPOUND_STMT:
            self.statements(children)
        elif kind in LOOPS:
            self.loop(cursor, children)
        elif kind == Kind.IF_STMT:
            self.condition(cursor, children)
        elif kind == Kind.RETURN_STMT and children:
            self.value(children[0])
        elif kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR):
            self.operator(cursor, children)
        elif kind == Kind.CALL_EXPR and cursor.spelling.startswith("operator") and not is_checking:
            self.call_of_operator(cursor, children)
        elif (
            kind == Kind.CALL_EXPR and not is_checking and (cursor.spelling not in ("Cube", "Mat") or len(children) < 2)
        ):
            self.call(cursor, children)
        elif kind in (Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR):
            self.name(cursor)
        elif kind == Kind.UNARY_OPERATOR and self.text(cursor)[0] in "-!":
            self.add(cursor, self.text(cursor)[1:])
        elif kind == Kind.CONDITIONAL_OPERATOR and len(children) == 3:
            condition, first, second = map(self.text, children)
            self.add(cursor, first, f"always `{plain(first)}`, also where `{plain(condition)}` does not hold")
            self.add(cursor, second, f"always `{plain(second)}`, also where `{plain(condition)}`")
            self.add(cursor, f"{condition} ? {second} : {first}")
        elif kind in (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR):
            self.number(cursor)
        sized = (
            kind == Kind.CALL_EXPR
            and cursor.spelling in ("Cube", "Mat", "Row", "Col")
            and len(list(cursor.get_arguments())) > 1
        )
        if is_checking:
            self.relax(cursor)
        if not is_checking and not sized:
            for child in children:
                if kind not in (Kind.FOR_STMT, Kind.WHILE_STMT) or child is children[-1]:
                    self.visit(child)
        if kind in (Kind.COMPOUND_STMT, *LOOPS):
            del self.known[visible:]
        self.path_to_here.pop()

    # ---------------------------------------------------------------------------------------------- statements

    def statements(self, statements):
        movable = (Kind.CALL_EXPR, Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.UNARY_OPERATOR)
        unwrapped = [self.unwrapped(one) for one in statements]
        for one, core in zip(statements, unwrapped):
            if core.kind in movable:
                self.leave_out(one, core)
            elif core.kind in (Kind.CONTINUE_STMT, Kind.BREAK_STMT):
                self.add(one, "")
        for first, second in zip(unwrapped, unwrapped[1:]):
            if first.kind in movable and second.kind in movable:
                a, b = self.text(first), self.text(second)
                between = self.bytes[first.extent.end.offset : second.extent.start.offset].decode()
                self.replace(first.extent.start.offset, second.extent.end.offset, b + between + a,
                             f"`{plain(b)}` comes before `{plain(a)}`, not after it")  # fmt: skip

    def leave_out(self, one, core):
        text = plain(self.text(core))
        checked = re.match(r'require_\w+\("(\w+)', text)
        says = f"`{text}` is left out"
        if checked:
            says = f"`{checked[1]}` is not checked"
        elif text.startswith("require_"):
            says = "what `" + text.split("(")[0] + "` asks is not checked"
        self.add(one, "(void)0", says)

    def relax(self, cursor):
        """Of require_shape("K", K, {{"S"}, {"D", Q.n_cols}}), leaves open one size."""
        text = self.text(cursor)
        of = re.match(r'require_shape\("([^"]+)"', text)
        for found in re.finditer(r'\{"([^"]+)", ((?:[^{}()]|\([^()]*\))+)\}', text) if of else ():
            begin = cursor.extent.start.offset + len(text[: found.start()].encode())
            self.replace(begin, begin + len(found[0].encode()), f'{{"{found[1]}"}}',
                         f"that `{of[1]}` has {found[1]} = `{plain(found[2])}` is not checked")  # fmt: skip

    def condition(self, cursor, children):
        condition, then = children[0], children[1]
        says = f"the case `{plain(self.text(condition))}` is not handled"
        thrown = re.search(r'invalid_argument\(\s*(?:"|std::string\()?"?(\w+)', self.text(then))
        if thrown:
            says += f": `{thrown[1]}` is not checked"
        self.replace(condition.extent.start.offset, condition.extent.end.offset, "false", says)
        if not thrown:
            self.replace(condition.extent.start.offset, condition.extent.end.offset, "true",
                         f"the case `{plain(self.text(condition))}` is always taken")  # fmt: skip

    def loop(self, cursor, children):
        if cursor.kind == Kind.CXX_FOR_RANGE_STMT:
            body = children[-1]
            of = plain(self.text(children[-2])) if len(children) > 1 else "it"
            if body.kind == Kind.COMPOUND_STMT:
                end = body.extent.end.offset - 1
                self.replace(end, end, "break; ", f"the loop over `{of}` ends after the first one")
            return
        if cursor.kind != Kind.FOR_STMT or len(children) != 4:
            return
        begin, until, step, _ = children
        bound = re.fullmatch(r"(.*?)(<=?)(.*)", self.text(until), re.S)
        name = re.match(r".*?(\w+) = (.*?);?$", self.text(begin), re.S)
        if not bound or not name:
            return
        variable, first = name[1], name[2]
        last = bound[3].strip()
        index = f"the loop over `{variable}` up to `{plain(last)}`"
        at = begin.extent.start.offset + self.text(begin).rindex(first)
        self.replace(at, at + len(first), f"({first}) + 1", f"{index} leaves out the first")
        self.add(until, f"{bound[1]}+ 1 {bound[2]} {last}", f"{index} leaves out the last")
        self.add(until, f"{bound[1]}<= {last}", f"{index} goes one too far" if bound[2] == "<" else None)
        self.add(until, f"{bound[1]}<= {first}", f"{index} does the first only")
        self.visit(list(until.get_children())[-1])
        if bound[2] == "<" and self.text(step).startswith("++") and "uword" in self.text(begin):
            self.replace(begin.extent.start.offset, step.extent.end.offset,
                         f"arma::uword {variable} = {last}; {variable}-- > {first};",
                         f"{index} runs from the last to the first")  # fmt: skip

    # --------------------------------------------------------------------------------------------- expressions

    def unwrapped(self, cursor):
        while cursor.kind == Kind.UNEXPOSED_EXPR:
            inner = list(cursor.get_children())
            if len(inner) != 1:
                break
            cursor = inner[0]
        return cursor

    def declaration(self, cursor, children):
        text = self.text(cursor)
        if "&" in text.split("=")[0] and not text.startswith("const") and cursor.kind == Kind.VAR_DECL:
            if "for" not in text:
                before = text.split("=")[0]
                self.add(cursor, text.replace(before, before.replace("&", " "), 1),
                         f"`{cursor.spelling}` is a copy, so that what it changes is lost")  # fmt: skip
        if cursor.kind == Kind.VAR_DECL and children and "=" in text and children[-1].kind.is_expression():
            self.value(children[-1], cursor.spelling)

    def value(self, cursor, name=None):
        """What a variable gets, or a function returns, as a whole."""
        text, of = self.text(cursor), type_of(cursor)
        what = f"`{name}`" if name else f"`{plain(text)}`"
        if text == "0" or cursor.kind in (Kind.INTEGER_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR):
            return
        if of in (
            "double",
            "float",
            "arma::Cube<double>",
            "arma::Mat<double>",
            "arma::Row<double>",
            "arma::Col<double>",
        ) or ("arma::" in of and "unsigned" not in of):
            made = (
                re.sub(r"\bconst\b|&", "", cursor.type.get_canonical().spelling).strip()
                if "lue<" not in of and "Op<" not in of
                else ""
            )
            whole = f"({text})" if not made or "subview" in made else f"{made}({text})"
            self.add(cursor, f"-{whole}", f"{what} has the wrong sign")
            self.add(cursor, f"2.0 * {whole}", f"{what} is twice as large as it should be")
            self.add(cursor, f"0.5 * {whole}", f"{what} is half as large as it should be")
            if of in ("double", "float"):
                self.add(cursor, f"std::pow({whole}, 2)", f"{what} is squared")

    def operator(self, cursor, children):
        if len(children) == 2:
            left, right = children
            between = self.bytes[left.extent.end.offset : right.extent.start.offset].decode()
            found = re.search(r"[^\s()]+", re.sub(r"//[^\n]*", "", between))
            if found:
                self.binary(cursor, left, right, found[0])

    def call_of_operator(self, cursor, children):
        name = cursor.spelling[len("operator") :]
        if name in ("()", "[]") and len(children) > 1:
            self.arguments(cursor, [one for one in children[1:] if self.text(one)[0] not in "(["])
        elif len(children) == 3:
            self.binary(cursor, children[0], children[2], name)
        elif len(children) == 2 and name in "-!":
            self.add(cursor, self.text(children[1]))

    def binary(self, cursor, left, right, operator):
        a, b = self.text(left), self.text(right)
        if operator == "=":
            self.value(self.unwrapped(right), plain(a))
            return
        before, after = left.extent.end.offset, right.extent.start.offset
        between = self.bytes[before:after].decode()
        of_matrices = "arma::" in type_of(left) and "arma::" in type_of(right)
        for other in OPERATORS.get(operator, ()):
            says = None
            if other == "/" and of_matrices:
                continue
            if other == "=":
                says = f"`{plain(a)}` is overwritten: `=` instead of `{operator}`"
            self.replace(before, after, between.replace(operator, other, 1), says, rank=0)
        if operator in LEFT_OUT:
            left_out = LEFT_OUT[operator].format(a=plain(a), b=plain(b))
            if operator == "%" and "arma::" not in type_of(cursor):
                left_out = None
            self.add(cursor, a, left_out)
            self.add(
                cursor, b, LEFT_OUT[operator].format(a=plain(b), b=plain(a)) if operator in ("*", "+", "%") else None
            )
        if operator in ("-", "*") or (operator == "/" and "arma::" not in type_of(cursor)):
            self.add(
                cursor,
                f"{b} {operator} {a}" if operator == "*" else f"({b}) {operator} ({a})",
                rank=0 if of_matrices else 2,
            )
        if operator == "*" and "arma::" in type_of(cursor):
            turned = [x[:-4] if x.endswith(".t()") else x + ".t()" for x in (a, b)]
            self.replace(left.extent.start.offset, before, turned[0], rank=0)
            self.replace(after, right.extent.end.offset, turned[1], rank=0)
            for wrong in (f"{b} * {turned[0]}", f"{turned[1]} * {a}", f"{turned[0]} * {turned[1]}"):
                self.add(cursor, wrong)

    def call(self, cursor, children):
        text = self.text(cursor)
        arguments = [one for one in cursor.get_arguments() if one is not None and self.is_here(one)]
        if len(children) == 1 and text == self.text(children[0]):
            return  # a conversion
        if "(" not in text and "{" not in text:
            return
        name = cursor.spelling
        if not text.startswith("{") and arguments:
            of = type_of(cursor)
            for one in arguments[:2]:
                inner = type_of(one)
                if of == inner or (of in ("double", "float") and inner in ("double", "float")) or (
                    "arma::" in of and "arma::" in inner and one is arguments[0]):  # fmt: skip
                    self.add(
                        cursor,
                        self.text(one),
                        f"`{name}` is not applied: `{plain(self.text(one))}` instead of `{plain(text)}`",
                    )
            if type_of(arguments[0]) == of and text.startswith(name):
                self.replace(arguments[0].extent.start.offset, arguments[0].extent.end.offset,
                             text, f"`{name}` is applied twice")  # fmt: skip
        if text.endswith(".t()"):
            self.add(cursor, text[:-4])
        if not text.startswith("{") and arguments:
            self.exchange_calls(cursor, text, self.unwrapped(arguments[0]))
        self.arguments(cursor, arguments)

    def exchange_calls(self, outer, text, inner):
        """Of f(g(x, a), b), makes g(f(x, b), a)."""
        while inner.kind == Kind.CALL_EXPR and len(list(inner.get_children())) == 1:
            inner = self.unwrapped(next(inner.get_children()))
        of_inner = (
            [one for one in inner.get_arguments() if one is not None and self.is_here(one)]
            if inner.kind == Kind.CALL_EXPR
            else []
        )
        if (
            not of_inner
            or "operator" in inner.spelling
            or not re.match(r"\w", inner.spelling)
            or "arma::" not in type_of(inner)
        ):
            return
        within, x = self.text(inner), self.text(of_inner[0])
        if text.startswith(within) or within.startswith(x):
            return
        exchanged = within.replace(x, text.replace(within, x, 1), 1)
        self.add(outer, exchanged, f"`{plain(exchanged)}` instead of `{plain(text)}`: in the other order")

    def arguments(self, cursor, arguments):
        for first, second in zip(arguments, arguments[1:]):
            a, b = self.text(first), self.text(second)
            between = self.bytes[first.extent.end.offset : second.extent.start.offset].decode()
            if type_of(first) == type_of(second):
                self.replace(first.extent.start.offset, second.extent.end.offset, b + between + a)
        for one in arguments:
            if type_of(one) in ("unsignedlonglong", "unsignedlong", "int", "unsignedint"):
                literal = re.fullmatch(r"\d+", self.text(one))
                if literal or cursor.spelling in ("Cube", "Mat", "Col", "Row"):
                    continue
                for wrong in (
                    ("0",) if cursor.spelling == "slice" else (f"{self.text(one)} + 1", f"{self.text(one)} - 1")
                ):
                    self.add(one, wrong)

    def name(self, cursor):
        own = cursor.spelling
        declared = cursor.referenced
        begin = cursor.extent.end.offset - len(own)
        if self.bytes[begin : cursor.extent.end.offset].decode() != own or declared is None:
            return
        for other in OTHERS.get(own, ()):
            self.replace(begin, begin + len(own), other)
        if declared.kind in (Kind.VAR_DECL, Kind.PARM_DECL):
            candidates = self.known
        elif declared.kind == Kind.FIELD_DECL:
            if declared.location.file is None or "/armadillo" in declared.location.file.name:
                return
            candidates = list(declared.semantic_parent.type.get_fields())
        elif declared.kind == Kind.ENUM_CONSTANT_DECL:
            candidates = list(declared.semantic_parent.get_children())
        else:
            return
        if self.function.kind == Kind.CONSTRUCTOR and declared.kind == Kind.PARM_DECL and type_of(declared) == "double":
            self.add(cursor, "0.0", f"`{own}` is not passed on: 0 instead")
        same = [
            one.spelling
            for one in candidates
            if one.spelling != own and type_of(one) == type_of(declared) and one.spelling
        ]
        inside = any(around.kind == Kind.VAR_DECL and around.spelling in same for around in self.path_to_here)
        here = {around.spelling for around in self.path_to_here if around.kind == Kind.VAR_DECL} if inside else set()
        for other in [one for one in dict.fromkeys(reversed(same)) if one not in here and alike(one, own)][:4]:
            self.replace(begin, begin + len(own), other)

    def number(self, cursor):
        text = self.text(cursor)
        if text in ("true", "false"):
            self.add(cursor, "false" if text == "true" else "true")
        elif re.fullmatch(r"\d+", text):
            for other in sorted({int(text) + 1, max(int(text) - 1, 0)}):
                self.add(cursor, str(other), rank=2)
        elif re.fullmatch(r"[\d.]+(e-?\d+)?f?", text):
            for other in ("0.0", f"{text} * 2", f"{text} / 2"):
                self.add(cursor, other, rank=2)

    # -------------------------------------------------------------------------------------------------- as JSON

    def as_mistakes(self):
        for begin, end, code, says, rank in self.edits.values():
            first, last = begin, end
            while self.bytes.count(self.bytes[first:last]) != 1 or first == last:
                first = (
                    self.bytes.rfind(b"\n", 0, max(first - 1, 0)) + 1
                    if self.bytes[first - 1 : first] != b"\n" or first == begin
                    else self.bytes.rfind(b"\n", 0, first - 1) + 1
                )
                following = self.bytes.find(b"\n", last)
                last = following if following >= 0 else len(self.bytes)
                if self.bytes.count(self.bytes[first:last]) != 1:
                    last = min(last + 1, len(self.bytes))
            find = self.bytes[first:last].decode()
            replace = (self.bytes[first:begin] + code.encode() + self.bytes[end:last]).decode()
            yield {"rank": rank, "says": says, "file": self.path.name, "find": find, "replace": replace}


class Program:
    """All edits of a lesson in one program, in a folder of its own that looks like the course to the gate."""

    def __init__(self, lesson):
        self.lesson, self.number = lesson, lesson[:2]
        self.made = BUILD / "operations" / self.number
        self.tests = self.made / "tests" / lesson
        self.tests.mkdir(parents=True, exist_ok=True)
        for folder in ("solutions", "include", "lessons"):
            if not (self.made / folder).is_symlink():
                (self.made / folder).symlink_to(ROOT / folder)
        self.files = sorted((ROOT / "solutions" / lesson).iterdir())
        edits = [edit for path in self.files for edit in File(path).as_mistakes()]
        most = 2 * sum(len(path.read_text().splitlines()) for path in self.files)  # to be run in a minute
        edits.sort(key=lambda edit: edit["rank"])
        while len(edits) > most and edits[-1]["rank"] > 0:  # of the least likely ones, every other one
            rank = edits[-1]["rank"]
            kept, last = [edit for edit in edits if edit["rank"] < rank], [
                edit for edit in edits if edit["rank"] == rank
            ]
            edits = kept + (last[::2] if len(last) > 8 else [])
        self.edits = edits
        for number, edit in enumerate(self.edits):
            edit["id"] = f"operation_{edit.pop('rank')}_{number:04}"

        answers = ROOT / "tests" / lesson / "answers.json"
        for answer in json.loads(answers.read_text())["answers"] if answers.exists() else []:
            self.edits.append({**answer, "id": "answer." + answer["id"], "says": answer["what"]})

    def drop(self, ids):
        self.edits = [edit for edit in self.edits if edit["id"] not in ids]

    def gate(self, *arguments):
        return subprocess.run([BUILD / "gate", *arguments], capture_output=True, text=True)

    def write_sources(self):
        """Without those edits that the gate cannot build in: they add a function, say."""
        while True:
            (self.tests / "mistakes.json").write_text(json.dumps({"mistakes": self.edits}, ensure_ascii=False))
            for path in self.files:
                run = self.gate(
                    "--root", self.made, "mutate-all", self.lesson, path.name, "--output", self.made / path.name
                )
                if run.returncode != 0:
                    break
            else:
                return
            odd = re.findall(r"mistake ([\w.]+)", run.stderr)
            if not odd:
                sys.exit(run.stderr)
            self.drop(odd)

    def commands(self):
        """How the objects of the catalogued mistakes are compiled, and then linked."""
        text = subprocess.run(
            ["ninja", "-C", BUILD, "-t", "commands", f"mutants_{self.number}"], capture_output=True, text=True
        ).stdout
        lines = [line for line in text.splitlines() if f"mutants_{self.number}" in line]
        compiling = [line for line in lines if f"-o CMakeFiles/mutants_{self.number}.dir" in line and " -c " in line]
        return compiling, lines[-1]

    def compile(self):
        """Leaves out what does not compile, and tries again."""
        compiling, linking = self.commands()
        old = f"{BUILD}/mutants/{self.lesson}"
        adapter = [line for line in compiling if "/tests/" in line.split(" -c ")[1]]
        sources = (
            [ROOT / "tests" / self.lesson / "adapter.cpp"]
            if adapter
            else [self.made / path.name for path in self.files]
        )
        like = (adapter or compiling)[0]
        objects = []
        for source in sources:
            objects.append(self.made / (source.name + ".o"))
            command = re.sub(r"-o \S+ -c \S+", f"-o {objects[-1]} -c {source} -w", like).replace(old, str(self.made))
            command = re.sub(r"-MD -MT \S+ -MF \S+", "", command)
            while True:
                run = subprocess.run(command, shell=True, cwd=BUILD, capture_output=True, text=True)
                if run.returncode == 0:
                    break
                wrong = self.blamed(run.stderr)
                if not wrong:
                    sys.exit(run.stderr[:5000])
                self.drop(wrong)
                self.write_sources()
        linking = re.sub(rf"CMakeFiles/mutants_{self.number}\.dir/\S+", "", linking)
        linking = linking.replace(
            f" -o mutants_{self.number}", " " + " ".join(map(str, objects)) + f" -o {self.made}/mutants_{self.number}"
        )
        subprocess.run(linking, shell=True, cwd=BUILD, check=True)

    def blamed(self, errors):
        """The edits in whose lines the compiler finds errors."""
        wrong = set()
        for path in self.files:
            made = self.made / path.name
            lines = made.read_text().splitlines()
            ids = re.findall(r'"([\w.]+)"', made.read_text().split("known : {")[1].split("})")[0])
            for number in {
                int(n) for n in re.findall(rf"{re.escape(str(made))}:(\d+):\d+: +(?:error|required from)", errors)
            }:
                for at in range(number - 1, -1, -1):
                    body = re.match(r"case \d+: \{  // ([\w.]+)", lines[at])
                    chosen = re.search(r"::mistake_in\(\d+\) == (\d+) \?", lines[at])
                    if body or chosen:
                        wrong.add(body[1] if body else ids[int(chosen[1])])
                        break
        return wrong

    def record(self):
        (ROOT / "tests" / self.lesson / "operations.json").unlink(missing_ok=True)  # the runs must not be named by it
        run = self.gate("--root", ROOT, "record-operations", self.lesson, "--made", self.made)
        print(self.lesson + ":", (run.stdout + run.stderr).strip(), flush=True)


def main():
    numbers = sys.argv[1:]
    for folder in sorted((ROOT / "solutions").iterdir()):
        if numbers and folder.name[:2] not in numbers:
            continue
        stubs = (ROOT / "tests" / folder.name / "stub").iterdir()
        if any("find the bug" in stub.read_text() for stub in stubs):
            continue  # whose bugs are operations on the solution: finding them is the lesson
        program = Program(folder.name)
        program.write_sources()
        program.compile()
        program.record()


main()
