#include "learn/coach/sentences.hpp"

#include <regex>
#include <utility>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

/// What a message means, what to say, and what is in the line of code: one row for each mistake. The first row that fits
/// is taken, so that special ones come first. A sentence must be true whenever its row fits.
///
/// - To add a row: put a snippet with the mistake into tools/tests/coach/snippets.txt, run ctest -R course.coach, which
///   prints the meaning of what each compiler says (diagnostics.hpp lists its forms), and add the row here.
/// - {matrix}, {cube}, {expression}, {arma} (any of them) and {number} stand for types, const or not.
const std::vector<Advice> advice_table = {
    // ------------------------------------------------------------------------------ members that Python's arrays have
    {"no member (T|mT|t|transpose) in {cube}", "A cube has no .$1: transpose one slice at a time, X.slice(b).t()."},
    {"no member (permute|swapaxes|movedim) in {cube}",
     "A cube has no .$1: axes are exchanged by copying. One slice is transposed by X.slice(b).t()."},
    {"no member (?:T|mT|transpose) in {arma}|no name arma::transpose", "The transpose of a matrix is A.t()."},
    {"no member shape in {arma}", "The sizes of a matrix are A.n_rows and A.n_cols; a cube also has X.n_slices."},
    {"no member (ndim|dim) in {arma}",
     "A matrix always has two axes (n_rows, n_cols), and a cube three (n_rows, n_cols, n_slices)."},
    {"no member (numel|nelement|length|len|count) in {arma}", "The number of elements is A.n_elem."},
    {"no member (n_row|n_col|n_slice|nrows|ncols|nrow|ncol|n_columns|num_rows|num_cols|width|height) in {arma}",
     "The sizes are called n_rows, n_cols and, for a cube, n_slices."},
    {"no member (sum|mean|prod|cumsum|median|stddev|var) in {arma}",
     "$1 is a function in Armadillo, not a member: arma::$1(A, 1) goes along each row, arma::$1(A, 0) along each "
     "column."},
    {"no member (exp|log|sqrt|abs|tanh|square|round|sign|pow) in {arma}",
     "$1 is a function in Armadillo, not a member: write arma::$1(A)."},
    {"no member (std) in {arma}", "The standard deviation is arma::stddev(A, 0, dim)."},
    {"no member (argmax|argmin) in {arma}",
     "The place of the largest element is A.index_max(); of each row, arma::index_max(A, 1)."},
    {"no member (matmul|mm|bmm|dot|multiply_matrix|__matmul__) in {arma}",
     "The matrix product is *: A * B. For cubes, slice by slice."},
    {"no member (mul|multiply) in {arma}", "The product element by element is %: A % B."},
    {"no member (add|sub|subtract|div|divide) in {arma}",
     "Use the operators: A + B, A - B, and element by element A % B, A / B."},
    {"no member (view|reshape_as|flatten|ravel) in {arma}",
     "In Armadillo X.reshape(rows, cols, slices) changes X itself, column by column, and returns nothing."},
    {"no (?:name arma::|member )(masked_fill_?|where)(?: in {arma})?",
     "Armadillo has no $1: set elements in a loop, or all at once by A.elem(arma::find(condition)).fill(value)."},
    {"no member (unsqueeze|squeeze|expand|broadcast_to) in {arma}",
     "Axes are not added or removed here: a matrix has two, a cube three, and X.slice(b) is a matrix."},
    {"no member (clone|copy|detach|contiguous) in {arma}",
     "A plain assignment copies in C++: arma::mat B = A. You need no .$1 here."},
    {"no member item in {arma}", "One number of a matrix is A(row, col)."},
    {"no member (chunk|split) in {arma}",
     "Cut columns with A.cols(first, last) and rows with A.rows(first, last): last is included."},
    {"no member (append|extend) in .*vector<.*", "A std::vector grows by v.push_back(x)."},
    {"no member (each_col|each_row) in {cube}", "A cube has no $1(): go slice by slice, X.slice(b).$1()."},
    {"no member "
     "(?:each_col|each_row|row|col|rows|cols|submat|head_rows|head_cols|tail_rows|tail_cols|slice|diag|n_rows|"
     "n_cols|n_elem|colptr|memptr|elem|fill|save) in {expression}|no call on {expression}.*",
     "This is an expression that is not computed yet. Store it first, with its type and not auto: arma::mat E = ...;"},
    {"no member (slice|slices|n_slices|each_slice) in {matrix}",
     "This is a matrix, and only a cube has $1: a matrix has rows and columns alone."},
    {"no member forward in (?:const )?attn::(Linear|Dropout)",
     "A $1 is called like a function: layer(x), not layer.forward(x)."},

    // ------------------------------------------------------------------------------------------------ Python's names
    {"no name (axis|dim|keepdim|keepdims)",
     "C++ has no named arguments. Write the number alone: arma::sum(A, 1) gives one sum for each row, arma::sum(A, 0) "
     "one for each column.",
     "\\b(?:axis|dim|keepdims?)\\s*=[^=]"},
    {"no name (True|False|TRUE|FALSE)", "In C++ these are true and false, in lower case."},
    {"no name None",
     "C++ has no None. What may be missing is an empty matrix or cube here: then A.is_empty() is true."},
    {"no name len",
     "C++ has no len(): a matrix has A.n_rows, A.n_cols and A.n_elem; a string or a vector has v.size()."},
    {"no name print", "To print a matrix, write A.print(\"A\"); for anything else, std::cout << x << '\\n'."},
    {"no name (torch|np|numpy|nn|jnp)",
     "There is no $1 in C++: Armadillo's functions are in arma::, such as arma::exp(A)."},
    {"no (?:name |name arma::|member )softmax(?: in {arma})?",
     "Armadillo has no softmax: the course's is softmax_rows(A), from attn/softmax.hpp."},
    {"no name (?:arma::)?(matmul|mm|bmm|einsum)",
     "There is no $1 here: the product of two matrices is A * B, and of cubes slice by slice."},
    {"no name arma::(concat|concatenate|cat|stack|hstack|vstack)",
     "Matrices are joined by arma::join_rows(A, B), side by side, and arma::join_cols(A, B), one above the other."},
    {"no name arma::(tril|triu)",
     "Triangles of a matrix are arma::trimatl(A), the lower, and arma::trimatu(A), the upper."},
    {"no name arma::(\\w+)", "Armadillo has nothing called $1: is it spelled differently there?"},
    {"no name range", "Count in a loop: for (arma::uword i = 0; i < n; ++i) { ... }"},
    {"no name (enumerate|zip)", "C++ has no $1: count with an index, for (arma::uword i = 0; i < n; ++i) { ... }"},
    {"no name self", "C++ has no self: a member is used by its name alone, or as this->name."},
    {"no name def", "A C++ function begins with the type that it returns: arma::mat f(const arma::mat& x) { ... }"},
    {"no name elif", "C++ writes else if (...)."},
    {"no name raise", "In C++ an exception is thrown: throw std::invalid_argument(\"...\");"},
    {"no name pass", "C++ has no pass: leave the braces empty, { }."},
    {"no name str", "A number becomes a string with std::to_string(n)."},
    {"no name lambda", "A lambda is written [](double x) { return x + 1; } in C++."},
    {"no name (import|from)", "C++ has no $1: a header is included, as in #include \"attn/shape.hpp\"."},
    {"no name (inf|nan|NaN|Inf|Infinity)",
     "In Armadillo infinity is arma::datum::inf, and not-a-number arma::datum::nan."},
    {"no name (Tensor|ndarray|Matrix|tensor|array)", "A matrix is arma::mat, and a cube, with three axes, arma::cube."},
    {".*expected.*", "C++ writes for (arma::uword i = 0; i < n; ++i) { ... }, or for (const auto& x : values) { ... }",
     "^\\s*for\\s+\\w+\\s+in\\b|\\bfor\\s*\\([^;:]*\\sin\\s"},
    {"expected '\\('.*", "What follows if, while and for is in parentheses: if (x > 1) { ... }",
     "\\b(?:if|while|for)\\b(?!\\s*(?:\\(|constexpr))"},
    {"(?:invalid type argument of unary '\\*'|indirection requires pointer operand|no match for 'operator\\*' "
     "\\(operand type is).*",
     "C++ has no **: write x * x or std::pow(x, 2), and for a matrix, element by element, arma::square(A).", "\\*\\*"},
    {"stray '@' in program|expected.*", "C++ has no @: the matrix product is A * B.", "[\\w)\\]]\\s*@\\s*[\\w(]"},
    {"invalid preprocessing directive.*", "A comment begins with // in C++.", "^\\s*#\\s+\\w|^\\s*#[^a-z]"},

    // ---------------------------------------------------------------------------------------- names without their place
    {"no name (mat|cube|vec|rowvec|colvec|uword|sword|umat|uvec|ucube|fmat|fcube|imat|cx_mat)",
     "Armadillo's types are in arma::, so write arma::$1."},
    {"no name "
     "(zeros|ones|eye|randu|randn|randi|accu|repmat|join_rows|join_cols|join_horiz|join_vert|join_slices|regspace|"
     "linspace|trans|vectorise|as_scalar|cumsum|datum|span|square|trimatl|trimatu|index_max|approx_equal)",
     "Armadillo's functions are in arma::, so write arma::$1."},
    {"no name "
     "(vector|string|cout|endl|cerr|pair|map|unordered_map|optional|unique_ptr|make_unique|to_string|invalid_argument|"
     "runtime_error|logic_error|numeric_limits|size_t|accumulate|tuple|array|move|swap)",
     "The standard library's names are in std::, so write std::$1."},
    {"no name std::(\\w+)", "std:: has no $1 here: is an #include missing, or is it spelled differently?"},
    {"no name softmax_rows",
     "softmax_rows is declared in attn/softmax.hpp, in namespace attn: include it, and write in that namespace."},
    {"no name Linear",
     "Linear is declared in attn/linear.hpp, in namespace attn: include it, and write in that namespace."},
    {"no name Dropout",
     "Dropout is declared in attn/dropout.hpp, in namespace attn: include it, and write in that namespace."},
    {"no name Mask", "Mask is declared in attn/mask.hpp, in namespace attn: include it, and write in that namespace."},
    {"no name (require_shape|require_positive|require_product|shape_text)",
     "$1 is declared in attn/shape.hpp, in namespace attn: include it, and write in that namespace."},
    {"attempt to use (?:a )?poisoned.*",
     "attn/strict.hpp does not give masked_fill, safe_softmax_rows, softmax_rows and scaled_dot_product_attention: "
     "write "
     "these steps yourself, without attn/masking.hpp; or include attn/masking.hpp instead of attn/strict.hpp."},
    {".*: No such file or directory|'.*' file not found",
     "There is no such header here: the course's are in include/attn/, such as attn/shape.hpp.", "#\\s*include"},

    // --------------------------------------------------------------------------------------- indices and what they give
    {"left operand of comma operator has no effect", "A[i, j] means A[j] in C++17. Write A(i, j).",
     "\\[[^\\]]*,[^\\]]*\\]"},
    {"no conversion {matrix} -> double",
     "X[i, j] means X[j], one number, in C++17. Elements are X(i, j); a slice is X.slice(b).",
     "\\[[^\\]]*,[^\\]]*\\]\\s*=[^=]"},
    {"no conversion {matrix} -> double&?",
     "On the left is one number, and a matrix does not fit there: a slice of a cube is X.slice(b), a row of a matrix "
     "A.row(i).",
     "[\\])]\\s*=[^=]"},
    {"no call \\w+\\(.*\\bdouble&?\\b.*\\)|no conversion (?:const )?double&? -> {arma}",
     "On a matrix or a cube [i] gives one number: a slice is X.slice(b), a row A.row(i).", "\\w\\[[^\\]]+\\]"},
    {"no conversion {number} -> {arma}", "This is one number, and a matrix or a cube is expected here."},
    {"(?:request for member .* of non-class type|member reference base type) '(?:const )?double&?'.*",
     "On a matrix or a cube [i] gives one number: a slice is X.slice(b), a row A.row(i).", "\\]\\s*\\."},
    {"invalid types '.*' for array subscript|subscripted value is not an array.*",
     "An element of a matrix is A(i, j), with both indices in one pair of parentheses: A[i] is already one number.",
     "\\]\\s*\\["},
    {"expected (?:primary-expression before ':'.*|expression)",
     "Parts of a matrix have names: A.row(i), A.col(j), A.rows(first, last), A.cols(first, last), with last included.",
     "\\[[^\\]:]*:(?!:)[^\\]]*\\]"},
    {"expected .*", "Numbers of a matrix stand in braces: arma::mat A = {{1, 2}, {3, 4}};", "=\\s*\\[\\s*\\["},
    {"no call on {cube}.*", "An element of a cube takes three indices: X(row, col, slice). A slice is X.slice(b)."},
    {"no call on {matrix}.*", "An element of a matrix takes two indices, A(row, col); three are for a cube."},

    // -------------------------------------------------------------------------------------------------------- operators
    {"no operator \\*: (?:{cube}, {arma}|{arma}, {cube})",
     "* does not multiply cubes. Multiply slice by slice: out.slice(b) = Q.slice(b) * K.slice(b);"},
    {"no operator [-+%/]: (?:{cube}, {matrix}|{matrix}, {cube}|{cube}, {expression}|{expression}, {cube})",
     "A cube and a matrix do not combine: go slice by slice, X.slice(b) with the matrix."},
    {"no operator =: .*, void|no conversion void -> .*|'void \\w+' has incomplete type|variable has incomplete type "
     "'void'",
     "reshape, resize and set_size change the object itself and return nothing: call it on a line of its own, then use "
     "the object.",
     "\\.(?:reshape|resize|set_size|fill|zeros|ones|insert_\\w+|shed_\\w+)\\("},
    {"no operator [-+*/%]?=: const arma::.*|(?:const arma::.*|it) is const",
     "This object is const and cannot be changed. Copy a parameter first: arma::mat out = scores; a member function "
     "that changes members is not const."},
    {"const (.*) is const",
     "The object is const, so only its const functions can be called: is a const missing behind that function's "
     "parameters?"},
    {"no operator [-+*/%]=: (?:{expression}|\\?), .*",
     "The left side cannot be changed by this operator. If it was declared with auto, write its type: arma::mat E = "
     "...;"},
    {"no operator =: {cube}, (?:{matrix}|{expression})",
     "A matrix cannot become a cube: assign it to one of the cube's slices, out.slice(b) = ..."},
    {"(?:operands to '\\?:' have different types|incompatible operand types).*",
     "Both sides of ?: must have the same type: name it, as in c ? arma::mat(A * B) : arma::mat(A).", "\\?"},
    {"no operator \\+: const char.*, const char.*|invalid operands of types 'const char.*' and 'const char.*' to "
     "binary 'operator\\+'",
     "Two texts in quotes cannot be added: begin with std::string(\"...\") + \"...\"."},

    // ------------------------------------------------------------------------------------------------------------ calls
    {"no call (exp|sqrt|log|pow|abs|tanh|floor|round)\\(.*(?:{arma}).*\\)",
     "std::$1 takes one number. For a matrix or a cube write arma::$1(A).",
     "\\bstd::(?:exp|sqrt|log|pow|abs|tanh|floor|round)\\b"},
    {"no call (max|min)\\(.*(?:{arma}).*\\)",
     "std::$1 compares two numbers. For a matrix, arma::$1(A, 1) gives one result for each row, and A.$1() one for "
     "all.",
     "\\bstd::(?:max|min)\\b"},
    {"no call (max|min)\\({number}, {number}\\)",
     "Both numbers must have the same type: name it, as in std::$1<arma::uword>(a, b) or std::$1<double>(a, b).",
     "\\bstd::(?:max|min)\\b"},
    {"cannot bind non-const lvalue reference of type 'arma::uword&' to .*|no call (?:max|min)\\(.*",
     "A.max() and A.min() are of all elements and take no axis. arma::max(A, 1) gives one for each row, arma::max(A, "
     "0) one for each column.",
     "\\.(?:max|min)\\(\\s*-?\\d"},
    {"no call .*::size\\(.*|too many arguments to function call.*",
     "Sizes are A.n_rows, A.n_cols and, for a cube, X.n_slices: size() takes no axis.", "\\.size\\(\\s*-?\\w"},
    {".*(?:cannot be used as a function|is not a function or function pointer)",
     "A size is a number, not a function: write A.n_rows, without ().", "\\.n_(?:rows|cols|slices|elem)\\s*\\("},
    {"invalid use of non-static member function .*|reference to non-static member function must be called.*|invalid "
     "use of member function .*",
     "It is a function, so it is called with parentheses: A.t()."},
    {"call (?:of overloaded|to) '(\\w+)(?:\\(.*\\))?' is ambiguous",
     "Several functions called $1 could take this. Store what it is given first, with its type: arma::cube E = ...;"},
    {"no call (?:attn::)?(Linear|Dropout)::(?:Linear|Dropout)\\(\\)",
     "A $1 needs its arguments: a member gets them in the constructor's initialiser list, Class(arma::uword dim) : "
     "member(...) { }"},
    {"constructor for '.*' must explicitly initialize the member '(\\w+)'.*",
     "$1 needs its arguments in the constructor's initialiser list: Class(arma::uword dim) : $1(...) { }"},

    // ------------------------------------------------------------------------------------------------------ conversions
    {"no conversion (?:{matrix}|{expression}) -> {cube}",
     "A matrix cannot become a cube. Make the cube, arma::cube out(rows, cols, slices), and fill it with out.slice(b) "
     "= ..."},
    {"no conversion .*op_rel.*|no conversion .*glue_rel.*",
     "A comparison of matrices gives a matrix of 0s and 1s. For one answer: arma::approx_equal(...), or arma::accu(A > "
     "0) > 0."},
    {"no conversion .*\\bop_sum\\b.* -> (?:double|int|float|arma::uword)",
     "arma::sum(A) of a matrix gives one sum for each column. The sum of all elements is arma::accu(A)."},
    {"no conversion .*\\bop_(max|min|mean)\\b.* -> (?:double|int|float|arma::uword)",
     "arma::$1(A) of a matrix gives one result for each column. For all elements, apply it to arma::vectorise(A)."},
    {"no conversion .*\\bglue_times\\b.* -> (?:double|float)",
     "A product is a matrix, even if it is 1 x 1: arma::as_scalar(a * b) is its number, and arma::dot(a, b) the dot "
     "product."},
    {"no conversion int -> std::string|multi-character character constant|character constant too long for its type",
     "Text is in double quotes: \"hello\".", "'[^']{2,}'"},

    // ---------------------------------------------------------------------------------------- declarations and the rest
    {"(?:expected ',' or ';' before|expected ';' (?:before|after|at end)).*",
     "Is a ; missing at the end of this line, or of the one before?"},
    {"expected '\\}'(?: at end of input)?", "A { is never closed: a } is missing somewhere above."},
    {"(?:expected declaration before '\\}' token|extraneous closing brace \\('\\}'\\))",
     "There is one } too many, here or above."},
    {"ISO C\\+\\+ forbids declaration of '\\w+' with no type|(?:C\\+\\+ requires a type specifier|a type specifier is "
     "required) for all declarations",
     "A type is missing before the name: arma::mat f(...) for a function, double x for a variable."},
    {"no return statement in function returning non-void|control reaches end of non-void function|non-void function "
     "does not return a value.*",
     "The function ends without a result: it needs a return on every path."},
    {"(?:no declaration matches|out-of-line definition of) '.*'.*",
     "Its header declares it differently: compare the name, the parameters and const at the end."},
    {".* marked 'override', but does not override|.*marked 'override' hides virtual member functions?|only virtual "
     "member functions can be marked 'override'",
     "The base class has no such virtual function: compare the name, the parameters and const at the end."},
    {"'.*' is private within this context|'.*' is a private member of '.*'",
     "It is private: only the class's own functions may use it."},
    {"(?:redeclaration|redefinition) of '.*'",
     "This name is already declared above: remove or rename one. To give a variable a new value, write no type before "
     "it."},
    {"a function-definition is not allowed here before '\\{' token|function definition is not allowed here",
     "A function cannot be defined inside another one. Is a } missing above?"},
    {"request for member '.*' in '.*this', which is of pointer type .*|member reference type '.*' is a pointer",
     "this is a pointer: write this->name, or the name alone.", "\\bthis\\s*\\."},
    {"request for member '.*' in '.*', which is of pointer type .*|member reference type '.*' is a pointer",
     "This is a pointer: write -> instead of the dot.", "\\."},
    {"base operand of '->' has non-pointer type .*|member reference type '.*' is not a pointer",
     "This is not a pointer: write a dot instead of ->.", "->"},
    {"use of 'auto' in parameter declaration only available .*|'auto' not allowed in function prototype",
     "A parameter needs its type: const arma::mat& x."},

    // --------------------------------------------------------------------------------------------------------- warnings
    {"comparison of integer.* different sign.*arma::uword.*",
     "Sizes are arma::uword: count with arma::uword i = 0, not int.", "\\bfor\\b"},
    {"comparison of integer.* different sign.*arma::uword.*",
     "An arma::uword, as sizes are, is compared with a number that may be negative: make both arma::uword."},
    {"suggest parentheses around assignment used as truth value|using the result of an assignment as a condition "
     "without parentheses",
     "= assigns; == compares."},
    {"'[^']*' is used uninitialized|'.*' may be used uninitialized.*|variable '.*' is uninitialized when used here",
     "It has no value yet: give it one where it is declared, such as double sum = 0;"},
    {"member '.*' is used uninitialized|field '.*' is uninitialized when used here",
     "This member has no value yet: members are initialised in the order in which the class declares them."},
    {"'.*' will be initialized after.*|field '.*' will be initialized after field '.*'",
     "Members are initialised in the order in which the class declares them, whatever the order here."},
    {"declaration (?:of '[^']*' )?shadows .*",
     "This is a new variable of the same name: the outer one is not changed."},

    // --------------------------------------------------------------------- what adds little to the compiler's words
    {"no member (\\w+) in (?:const )?attn::(\\w+)", "$2 has no member $1: its declaration lists the names that it has.",
     "", true},
    {"no name (\\w+)",
     "$1 is not declared here: is it spelled differently, declared in another function, or in a header that is not "
     "included?",
     "", true},
    {"no call (?:attn::)?(\\w+)\\(.*\\)",
     "No $1 takes these arguments: compare their number and types with its declaration.", "", true},
    {"no call on (?:const )?attn::Any(Norm|FeedForward).*",
     "An Any$1 is a variant, which holds one of several layers. apply_layer(norm, X) calls the layer that norm holds."},
    {"no call on (?:const )?attn::(\\w+).*",
     "This $1 does not take these arguments: compare their number and types with its declaration.", "", true},
    {"too (?:many|few) arguments to function.*", "The number of arguments differs from the function's declaration.", "",
     true},
};

std::string with_types(std::string pattern) {
  static const std::pair<const char*, const char*> types[] = {
      {"{arma}", "(?:{matrix}|{cube}|{expression})"},
      {"{matrix}",
       R"((?:const )?arma::(?:f?mat|f?vec|f?rowvec|umat|uvec|Mat<[^<>]*>|Col<[^<>]*>|Row<[^<>]*>|subview(?!_cube)\w*<.*>)&?)"},
      {"{cube}", R"((?:const )?(?:arma::(?:[fu]?cube|Cube<[^<>]*>|subview_cube\w*<.*>|\w+Cube<.*>)|attn::Mask)&?)"},
      {"{expression}", R"((?:const )?arma::(?:eOp|Op|eGlue|Glue|mtOp|mtGlue|Gen)<.*>&?)"},
      {"{number}",
       R"((?:const )?(?:(?:long )?unsigned(?: int| long)?|long unsigned int|(?:long )*int|double|float|long|arma::uword|std::size_t|size_t|std::vector<?.*::size_type|std::string::size_type)&?)"}};
  for (const auto& [name, pattern_of_type] : types) pattern = replaced(pattern, name, pattern_of_type);
  return pattern;
}

/// A row with its patterns compiled.
struct Row {
  explicit Row(const Advice& row) : advice(&row), meaning(with_types(row.meaning)), code(row.code) {}

  const Advice* advice;
  std::regex meaning;
  std::regex code;
};

}  // namespace

Explanation explanation_of(const Diagnostic& diagnostic) {
  static const std::vector<Row> rows(advice_table.begin(), advice_table.end());
  const std::string meaning = meaning_of(diagnostic);
  const std::string code = diagnostic.source.substr(0, diagnostic.source.find("//"));
  std::smatch match;
  for (const auto& row : rows) {
    if (!std::regex_match(meaning, match, row.meaning) || !std::regex_search(code, row.code)) continue;
    return {match.format(row.advice->sentence), row.advice};
  }
  return {};
}

const std::vector<Advice>& all_advice() { return advice_table; }

}  // namespace attn::learn
