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
    "tanh": ("sin", "erf"), "log": ("log2", "log1p"), "join_rows": ("join_cols",), "join_cols": ("join_rows",),
    "mean": ("sum",), "erf": ("tanh",), "sqrt": ("square",), "n_elem": ("n_rows", "n_cols"), "silu": ("gelu", "relu"),
    "gelu": ("gelu_tanh", "relu"), "relu": ("silu",), "safe_softmax_rows": ("log_softmax_rows",), "index_max": ("index_min",),
    "stable_sort_index": ("sort_index",), "split_heads": ("merge_heads",), "begin": ("end",), "size": ("n_elem",),
}  # fmt: skip
OPERATORS = {  # of an operator, those that it is mistaken for
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",), "<": ("<=",), "<=": ("<",), ">": (">=",),
    ">=": (">",), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",), "+=": ("-=", "="), "-=": ("+=", "="),
    "*=": ("/=", "="), "/=": ("*=", "="), "%=": ("=", "/=", "+="), "=": ("+=",),
}  # fmt: skip
INTEGERS = ("unsignedlonglong", "unsignedlong", "unsignedint", "int", "long")
MATRICES = ("arma::Cube<double>", "arma::Mat<double>", "arma::Row<double>", "arma::Col<double>", "arma::Cube<float>",
            "arma::Mat<float>", "arma::Row<float>", "arma::Col<float>")  # fmt: skip
ALL_ZERO = (
    "{x} is all 0: is it computed, and not written to a copy, nor multiplied by an integer division such as 1 / 2?"
)
CUBE_CHANGES = (  # of a cube y: what is done with it, and what a sentence says
    ("for (arma::uword n = 1; n < y.n_slices; ++n) y.slice(n) = y.slice(0);", "{x}: every slice is the first one"),
    ("if (y.n_slices > 1) y.slice(y.n_slices - 1).zeros();", "the last slice of {x} stays 0"),
    ("if (y.n_slices > 1) y.slice(0).zeros();", "the first slice of {x} stays 0"),
    ("if (y.n_rows > 1) y.row(y.n_rows - 1).zeros();", "the last row of {x} stays 0"),
    ("if (y.n_rows > 1) y.row(0).zeros();", "the first row of {x} stays 0"),
    ("if (y.n_cols > 1) y.col(y.n_cols - 1).zeros();", "the last column of {x} stays 0"),
    ("y = arma::reverse(y, 2);", "the slices of {x} are in reverse order"),
    ("y = arma::reverse(y, 1);", "the columns of {x} are in reverse order"),
    ("y = arma::reverse(y, 0);", "the rows of {x} are in reverse order"),
    ("y.each_slice([](auto& m) { m = arma::shift(m, 1, 0); });", "{x}: each row has what belongs one row above"),
    ("y.each_slice([](auto& m) { m = arma::shift(m, -1, 0); });", "{x}: each row has what belongs one row below"),
    ("y /= y.n_rows;", "{x} is divided by its number of rows"),
    ("y /= y.n_cols;", "{x} is divided by its number of columns"),
    ("y /= y.n_slices;", "{x} is divided by its number of slices"),
    ("y /= y.n_rows * y.n_slices;", "{x} is divided by its number of rows in all slices"),
    ("y = arma::abs(y);", "{x} loses its signs"),
    ("y = arma::clamp(y, 0, y.max());", "{x} loses what is negative"),
    ("y.zeros();", ALL_ZERO),
)  # fmt: skip
MATRIX_CHANGES = (
    ("if (y.n_rows > 1) y.row(y.n_rows - 1).zeros();", "the last row of {x} stays 0"),
    ("if (y.n_rows > 1) y.row(0).zeros();", "the first row of {x} stays 0"),
    ("if (y.n_cols > 1) y.col(y.n_cols - 1).zeros();", "the last column of {x} stays 0"),
    ("y = arma::reverse(y, 1);", "the columns of {x} are in reverse order"),
    ("y = arma::reverse(y, 0);", "the rows of {x} are in reverse order"),
    ("y /= y.n_rows;", "{x} is divided by its number of rows"),
    ("y /= y.n_cols;", "{x} is divided by its number of columns"),
    ("y = arma::abs(y);", "{x} loses its signs"),
    ("y = arma::square(y);", "{x} is squared"),
    ("y.zeros();", ALL_ZERO),
)  # fmt: skip
NUMBER_CHANGES = (
    ("std::pow({w}, 2)", "{x} is squared"), ("std::sqrt({w})", "the root of {x} is taken"), ("std::abs({w})", "{x} loses its sign"),
    ("1 - {w}", "1 - {x}, not {x}"), ("1 / {w}", "1 / {x}, not {x}"), ("std::exp({w})", "{x} goes through exp"),
    ("std::log({w})", "the logarithm of {x} is taken"), ("{w} + 1", "{x} is too large by 1"), ("{w} - 1", "{x} is too small by 1"),
    ("std::floor({w})", "{x} is rounded down"),
)  # fmt: skip
TRANSPOSED = ("[](const auto& x) {{ {t} y(x.n_cols, x.n_rows, x.n_slices); for (arma::uword n = 0; n < x.n_slices; ++n) "
              "y.slice(n) = x.slice(n).t(); return y; }}")  # fmt: skip
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
        elif kind == Kind.PAREN_EXPR:
            self.parentheses(cursor)
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
                if core.kind == Kind.COMPOUND_ASSIGNMENT_OPERATOR or core.spelling in (
                    "operator+=",
                    "operator-=",
                    "operator%=",
                    "operator*=",
                    "operator/=",
                ):
                    self.add(
                        core, f"{self.text(core)}; {self.text(core)}", f"`{plain(self.text(core))}` is done twice", 1
                    )
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
        stores = re.search(r" [-+*/%]?= ", text)
        says = f"`{text}` is left out" + (", or changes a copy" if stores else "")
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
            head = self.bytes[cursor.extent.start.offset : body.extent.start.offset].decode()
            copied = re.sub(r"\(\s*(?:const )?(.*?)\s*&\s*(\w+ :)", r"(\1 \2", head, count=1, flags=re.S)
            variable = re.search(r"(\w+) :", head)
            if copied != head and variable and "const" not in head:
                self.replace(cursor.extent.start.offset, body.extent.start.offset, copied,
                             f"`{variable[1]}` is a copy in the loop over `{of}`: what is changed in it is lost", 0)  # fmt: skip
            if body.kind == Kind.COMPOUND_STMT:
                end = body.extent.end.offset - 1
                self.replace(end, end, "break; ", f"the loop over `{of}` ends after the first one")
            return
        self.begin_once(cursor, children[-1])
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
        by = re.search(r"\+= (.+)$", self.text(step))
        if by:
            self.add(
                until, f"{bound[1]}+ {by[1]} <= {last}", f"{index} leaves out the last block where it is not whole", 0
            )
        self.visit(list(until.get_children())[-1])
        if bound[2] == "<" and self.text(step).startswith("++") and "uword" in self.text(begin):
            self.replace(begin.extent.start.offset, step.extent.end.offset,
                         f"arma::uword {variable} = {last}; {variable}-- > {first};",
                         f"{index} runs from the last to the first")  # fmt: skip

    def begin_once(self, loop, body):
        """Moves what a loop's body declares in front of the loop."""
        if body.kind != Kind.COMPOUND_STMT:
            return
        for one in body.get_children():
            if one.kind != Kind.DECL_STMT or "const" in self.text(one) or "&" in self.text(one):
                continue
            names = [child.spelling for child in one.get_children() if child.kind == Kind.VAR_DECL]
            text = self.text(one)
            start = loop.extent.start.offset
            before = self.bytes[start : one.extent.start.offset].decode()
            if names:
                self.replace(start, one.extent.end.offset, f"{text} {before};",
                             f"`{names[0]}` is made before the loop, and not anew each time", 0)  # fmt: skip

    # --------------------------------------------------------------------------------------------- expressions

    def parentheses(self, cursor):
        text = self.text(cursor)
        if text.startswith("(") and re.search(r"[^(,] [-+*/%] ", text) and len(self.path_to_here) > 1:
            self.add(cursor, text[1:-1], f"the parentheses are missing around `{plain(text[1:-1])}`", 0)

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
            made = re.fullmatch(r"(const )?[\w:<>]+ (\w+) = ([\w.\->]+(?:\(\))?)", text)
            if made:
                self.add(cursor, f"auto&& {made[2]} = {made[3]}",
                         f"`{made[2]}` is a reference, and changes when `{plain(made[3])}` does", 0)  # fmt: skip
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
            returned = self.path_to_here[-1].kind == Kind.RETURN_STMT
            self.changes(cursor, of, whole, what, 1 if returned or not name or "." in name else 2)
            if returned:
                self.return_another(cursor, of, whole, what)

    def changes(self, cursor, of, whole, what, rank):
        if of in ("double", "float"):
            for code, says in NUMBER_CHANGES:
                self.add(cursor, code.format(w=whole), says.format(x=what), rank)
            return
        kind = "Cube" if "Cube<" in of else "Mat"
        number = "float" if "float" in of else "double"
        table = CUBE_CHANGES if kind == "Cube" else MATRIX_CHANGES
        if kind == "Mat" and of.startswith(("arma::Row<", "arma::Col<")):
            kind = of[6:9]
        if "<" not in of or not re.fullmatch(r"(arma::\w+<(double|float)>|arma::(?:m|e|G|O)\w*<.*)", of):
            return
        for code, says in table:
            self.add(cursor, f"[](arma::{kind}<{number}> y) {{ {code} return y; }}({whole})", says.format(x=what), rank)

    def return_another(self, cursor, of, whole, what):
        for one in self.known:
            if type_of(one) == of and one.spelling and one.spelling != self.text(cursor):
                self.add(cursor, one.spelling, f"`{one.spelling}` is returned, not {what}", 1)
                if of in MATRICES and one.kind == Kind.PARM_DECL:
                    self.add(cursor, f"{whole} + {one.spelling}", f"`{one.spelling}` is added to {what}", 2)

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
            arguments = [one for one in children[1:] if self.text(one)[0] not in "(["]
            if (
                name == "()"
                and len(arguments) == 1
                and type_of(cursor) == type_of(arguments[0])
                and type_of(cursor) in MATRICES
            ):
                of, x, function = self.text(cursor), self.text(arguments[0]), plain(self.text(children[0]))
                self.add(cursor, x, f"`{function}` is not applied to `{plain(x)}`", 0)
                self.replace(arguments[0].extent.start.offset, arguments[0].extent.end.offset, of,
                             f"`{function}` is applied twice", 0)  # fmt: skip
                self.take_out(cursor, arguments)
            self.arguments(cursor, arguments)
        elif len(children) == 3:
            self.binary(cursor, children[0], children[2], name)
        elif len(children) == 2 and name in "-!":
            self.add(cursor, self.text(children[1]))

    def binary(self, cursor, left, right, operator):
        a, b = self.text(left), self.text(right)
        before, after = left.extent.end.offset, right.extent.start.offset
        between = self.bytes[before:after].decode()
        if operator == "=":
            if "arma::" in type_of(left) or type_of(left) in ("double", "float"):
                self.replace(before, after, between.replace("=", "+=", 1),
                             f"`{plain(b)}` is added to `{plain(a)}`, which has a value", 1)  # fmt: skip
            self.value(self.unwrapped(right), plain(a))
            return
        if operator in ("/", "%") and type_of(cursor) in INTEGERS:
            self.integers(cursor, a, b, operator)
        if operator == "/" and type_of(cursor) in ("double", "float"):
            self.division(cursor, left, right, a, b)
        rooted = re.match(r"std::sqrt\(static_cast<\w+>\((.*)\)\)$", b)
        if operator == "/" and rooted:
            self.add(
                cursor, f"{a} * 0", f"`{plain(a)}` is multiplied by 0, as 1 / `{plain(rooted[1])}` is in integers", 0
            )
        if operator in "+-*/%":
            self.take_in(cursor, left, right, a, b, operator)
        if operator in "*%" and "arma::" in type_of(left) and operator == "%":
            for side, of in ((left, a), (right, b)):
                self.add(
                    side, f"arma::square({of})", f"`{plain(of)}` is squared in `{plain(a)} {operator} {plain(b)}`", 1
                )
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

    def integers(self, cursor, a, b, operator):
        other = "%" if operator == "/" else "/"
        self.add(cursor, f"{a} {other} {b}", rank=0)
        inner = re.fullmatch(r"\(([\w.]+) / ([\w.]+)\)", b)
        if inner and operator == "/":
            self.add(cursor, f"{a} % {inner[2]}", rank=0)
            self.add(cursor, f"{a} / {inner[2]}", rank=0)

    def division(self, cursor, left, right, a, b):
        """In integers; and by one more, or one less."""
        cast = re.compile(r"static_cast<(?:double|float)>\(((?:[^()]|\([^()]*\))*)\)")
        whole = cast.sub(r"(\1)", a), cast.sub(r"(\1)", b)
        says = f"`{plain(a)} / {plain(b)}` is a division of integers, which rounds down"
        if whole[1] != b and whole[0] != a:
            self.add(cursor, f"static_cast<double>({whole[0]} / {whole[1]})", says, 0)
        factors = self.unwrapped(left)
        parts = [one for one in factors.get_children()] if factors.kind == Kind.BINARY_OPERATOR else []
        if len(parts) == 2 and whole[1] != b and cast.fullmatch(self.text(parts[1])):
            inner = cast.sub(r"(\1)", self.text(parts[1]))
            self.add(cursor, f"{self.text(parts[0])} * static_cast<double>({inner} / {whole[1]})", says, 0)
        self.add(cursor, f"{a} / ({b} + 1)", f"`{plain(a)}` is divided by one more than `{plain(b)}`", 1)
        self.add(cursor, f"{a} / ({b} - 1)", f"`{plain(a)}` is divided by one less than `{plain(b)}`", 1)

    def around(self, call, argument):
        """What is written before and after an argument of a call."""
        first, last = call.extent.start.offset, call.extent.end.offset
        return (self.bytes[first : argument.extent.start.offset].decode(),
                self.bytes[argument.extent.end.offset : last].decode())  # fmt: skip

    def parts(self, cursor):
        """The two sides of an operator, and the operator."""
        cursor = self.unwrapped(cursor)
        while cursor.kind == Kind.CALL_EXPR and len(list(cursor.get_children())) == 1:
            cursor = self.unwrapped(next(cursor.get_children()))
        if cursor.kind == Kind.PAREN_EXPR:
            cursor = self.unwrapped(next(cursor.get_children()))
        children = list(cursor.get_children())
        if cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2:
            left, right = children
        elif cursor.kind == Kind.CALL_EXPR and re.fullmatch(r"operator[-+*/%]", cursor.spelling) and len(children) == 3:
            left, _, right = children
        else:
            return None
        between = self.bytes[left.extent.end.offset : right.extent.start.offset].decode()
        found = re.search(r"[-+*/%]", between)
        return (self.text(left), found[0], self.text(right)) if found else None

    def take_out(self, call, arguments):
        """Of f(a / b), makes f(a) / b."""
        found = self.parts(arguments[0])
        if not found or "arma::" not in type_of(call) and type_of(call) not in ("double", "float"):
            return
        a, operator, b = found
        before, after = self.around(call, arguments[0])
        text = plain(self.text(call))
        for code in (f"({before}{a}{after} {operator} {b})", f"({a} {operator} {before}{b}{after})"):
            self.add(call, code, f"`{plain(code[1:-1])}` instead of `{text}`", 1)

    def take_in(self, cursor, left, right, a, b, operator):
        """Of f(a) / b, makes f(a / b)."""
        for side, other, is_left in ((left, b, True), (right, a, False)):
            call = self.unwrapped(side)
            if (
                call.kind != Kind.CALL_EXPR
                or not re.match(r"\w+$", call.spelling)
                or call.spelling.startswith("operator")
            ):
                continue
            of = [one for one in call.get_arguments() if one is not None and self.is_here(one)]
            if not of or "(" not in self.text(call):
                continue
            before, after = self.around(call, of[0])
            x = self.text(of[0])
            code = before + (f"({x}) {operator} {other}" if is_left else f"{other} {operator} ({x})") + after
            self.add(cursor, code, f"`{plain(code)}` instead of `{plain(self.text(cursor))}`", 1)

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
        if not text.startswith("{") and arguments and re.match(r"[\w:]+\(", text):
            self.take_out(cursor, arguments)
        if re.search(r"softmax\w*_rows$", name or "") and arguments:
            x, of = self.text(arguments[0]), type_of(cursor)
            number = "float" if "float" in of else "double"
            says = f"`{name}` makes columns that sum to one, not rows"
            before, after = self.around(cursor, arguments[0])
            if "Cube<" in of:
                turn = TRANSPOSED.format(t=f"arma::Cube<{number}>")
                self.add(cursor, f"{turn}({before}{turn}(arma::Cube<{number}>({x})){after})", says, 0)
            else:
                self.add(
                    cursor,
                    f"arma::Mat<{number}>({before}arma::Mat<{number}>(arma::Mat<{number}>({x}).t()){after}.t())",
                    says,
                    0,
                )
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
            given = self.text(one)
            if re.match(r"arma::(Cube|Col|Row|Mat)<unsigned", type_of(one)) and re.fullmatch(r"[\w.]+", given):
                self.add(one, "{}", f"`{given}` is not passed to `{plain(cursor.spelling)}`", 0)
                if "Cube<" in type_of(one):
                    self.add(
                        one, f"arma::ucube(1 - {given})", f"`{given}` is read the wrong way round: 1 and 0 exchanged", 0
                    )
                    turn = TRANSPOSED.format(t="arma::ucube")
                    self.add(one, f"{turn}({given})", f"`{given}` is transposed", 0)
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
        others = [one for one in dict.fromkeys(reversed(same)) if one not in here]
        for other in [one for one in others if alike(one, own)][:4]:
            self.replace(begin, begin + len(own), other)
        if "arma::" in type_of(declared) or type_of(declared) == "double":
            for other in [one for one in others if not alike(one, own)][:4]:
                self.replace(begin, begin + len(own), other, rank=1)

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
        most = 4 * sum(len(path.read_text().splitlines()) for path in self.files)  # to be run in minutes
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
                    if re.match(r"mistake_made == \d+ \?", lines[at]):  # a definition, whose name comes after its value
                        body = re.search(r":  // ([\w.]+)$", "\n".join(lines[at:]), re.MULTILINE)
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
