#include "verdict/unfinished.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "verdict/place.hpp"

namespace attn::judge {

namespace {

// ---------------------------------------------------------------------------------------------------------- tokens

struct Token {
  std::string text;
  int line = 0;

  bool is_name() const { return std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_'; }
  bool is_number() const { return std::isdigit(static_cast<unsigned char>(text[0])) != 0; }
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Names with their namespaces ("arma::exp"), numbers, and symbols of one or two characters.
std::vector<Token> tokens_of(const std::string& code) {
  static const std::set<std::string> pairs = {
      "->", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "++", "--", "<<", ">>", "::"};
  const std::string text = without_comments(code);
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    auto end = at + 1;
    if (is_word(text[at])) {
      const bool number = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
      const auto more = [&] {
        if (end >= text.size()) return false;
        if (is_word(text[end]) || (number && (text[end] == '.' || text[end] == '\''))) return true;
        return !number && text.compare(end, 2, "::") == 0 && end + 2 < text.size() && is_word(text[end + 2]);
      };
      while (more()) end += text[end] == ':' ? 2 : 1;
    } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      at = end;
      continue;
    } else if (pairs.count(text.substr(at, 2)) != 0) {
      end = at + 2;
    }
    tokens.push_back({text.substr(at, end - at), line});
    at = end;
  }
  return tokens;
}

// ---------------------------------------------------------------------------------------------------------- values

enum class Kind { unknown, number, matrix, cube, row, column };

/// What is known of an expression.
struct Value {
  Kind kind = Kind::unknown;
  bool unfinished = false;  ///< an expression, not its result
  bool view = false;        ///< of a part of something: fine as long as that is there
  bool temporary = false;   ///< gone at the end of the statement
  bool dangles = false;     ///< refers to something that is

  bool arma() const { return kind != Kind::unknown && kind != Kind::number; }
};

Kind kind_of_type(const std::string& type) {
  static const std::map<std::string, Kind> kinds = {
      {"mat", Kind::matrix},    {"fmat", Kind::matrix}, {"umat", Kind::matrix}, {"cube", Kind::cube},
      {"fcube", Kind::cube},    {"ucube", Kind::cube},  {"rowvec", Kind::row},  {"frowvec", Kind::row},
      {"urowvec", Kind::row},   {"vec", Kind::column},  {"fvec", Kind::column}, {"uvec", Kind::column},
      {"colvec", Kind::column}, {"Mask", Kind::cube}};
  const std::string name = type.rfind("arma::", 0) == 0 ? type.substr(6) : type == "Mask" ? type : "";
  const auto found = kinds.find(name);
  return found == kinds.end() ? Kind::unknown : found->second;
}

std::string type_of(Kind kind) {
  switch (kind) {
    case Kind::matrix: return "arma::mat";
    case Kind::cube: return "arma::cube";
    case Kind::row: return "arma::rowvec";
    case Kind::column: return "arma::vec";
    case Kind::number:
    case Kind::unknown: break;
  }
  return {};
}

using Names = std::map<std::string, Kind>;

// ------------------------------------------------------------------------------------------------------ expressions

/// Reads one expression from its first token on. Gives up (kind unknown) at anything it does not know.
class Expression {
 public:
  Expression(const std::vector<Token>& tokens, std::size_t at, const Names& variables, const Names& functions)
      : tokens_(tokens), at_(at), variables_(variables), functions_(functions) {}

  Value read() {
    const Value value = sum();
    return failed_ ? Value{} : value;
  }
  bool ends_with(const std::string& token) const { return text() == token; }

 private:
  const std::string& text(std::size_t ahead = 0) const {
    static const std::string none;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : none;
  }

  Value fail() {
    failed_ = true;
    return {};
  }

  Value sum() {
    Value left = product();
    while (!failed_ && (text() == "+" || text() == "-")) {
      ++at_;
      left = combined(left, product(), false);
    }
    return left;
  }

  Value product() {
    Value left = unary();
    while (!failed_ && (text() == "*" || text() == "/" || text() == "%")) {
      const bool matrix_product = text() == "*";
      ++at_;
      left = combined(left, unary(), matrix_product);
    }
    return left;
  }

  Value unary() {
    if (text() != "-") return postfix();
    ++at_;
    const Value value = postfix();
    return value.arma() ? expression_of(value, value.kind) : value;
  }

  static Value expression_of(const Value& operand, Kind kind) {
    return {kind, true, false, true, operand.temporary || operand.dangles};
  }

  static Value combined(const Value& a, const Value& b, bool matrix_product) {
    if (!a.arma() && !b.arma()) return {a.kind == b.kind ? a.kind : Kind::unknown};
    Kind kind = a.arma() ? a.kind : b.kind;
    if (matrix_product && a.arma() && b.arma()) {
      kind = a.kind == Kind::row && b.kind != Kind::column ? Kind::row
             : b.kind == Kind::column                      ? Kind::column
                                                           : Kind::matrix;
    }
    Value value = expression_of(a, kind);
    const bool b_gone = b.arma() && (b.temporary || b.dangles);
    value.dangles = (a.arma() && value.dangles) || b_gone;
    return value;
  }

  /// The values between parentheses; `at_` stands on the opening one.
  std::vector<Value> arguments(std::vector<std::string>* first_tokens = nullptr) {
    std::vector<Value> values;
    ++at_;
    while (!failed_ && text() != ")") {
      if (first_tokens != nullptr) first_tokens->push_back(text());
      values.push_back(sum());
      if (text() == ",") {
        ++at_;
      } else if (text() != ")") {
        fail();
      }
    }
    ++at_;
    return values;
  }

  /// To the token after the template's arguments, where a name has some.
  std::string template_arguments() {
    if (text() != "<" || text(1).empty() || !tokens_[at_ + 1].is_name()) return {};
    if (text(2) != ">" || (text(3) != "(" && text(3) != "::")) return {};
    const std::string type = text(1);
    at_ += 3;
    if (text() == "::") at_ += 2;  // conv_to<arma::mat>::from
    return type;
  }

  Value primary() {
    if (text().empty()) return fail();
    if (text() == "(") {
      const auto values = arguments();
      return values.size() == 1 ? values.front() : fail();
    }
    if (tokens_[at_].is_number()) {
      ++at_;
      return {Kind::number};
    }
    if (!tokens_[at_].is_name()) return fail();
    const std::string name = text();
    ++at_;
    const std::string type = template_arguments();
    if (text() == "(") return name == "static_cast" ? cast() : call(name, type);
    const auto found = variables_.find(name);
    return {found == variables_.end() ? Kind::unknown : found->second};
  }

  Value cast() {
    arguments();
    return {Kind::number};
  }

  Value call(const std::string& name, const std::string& type) {
    const auto variable = variables_.find(name);
    std::vector<std::string> firsts;
    const auto values = arguments(&firsts);
    if (variable != variables_.end()) {
      const bool part =
          std::any_of(firsts.begin(), firsts.end(), [](const auto& first) { return first == "arma::span"; });
      return part ? Value{variable->second, true, true, true, false} : Value{Kind::number};
    }
    if (const Kind kind = kind_of_type(type.empty() ? name : type); kind != Kind::unknown) {
      return {kind, false, false, true, false};
    }
    if (name.rfind("std::", 0) == 0) return {Kind::number};
    const auto function = functions_.find(name);
    if (function != functions_.end()) return {function->second, false, false, true, false};
    const bool of_arma = name.rfind("arma::", 0) == 0;
    if (values.empty() || (!of_arma && !values.front().arma())) return {};
    return call_of_armadillo(of_arma ? name.substr(6) : name, values, firsts);
  }

  static Value call_of_armadillo(const std::string& name, const std::vector<Value>& values,
                                 const std::vector<std::string>& firsts) {
    static const std::set<std::string> elementwise = {"exp",   "log",  "sqrt",  "square", "abs",   "pow",
                                                      "tanh",  "sin",  "cos",   "floor",  "ceil",  "round",
                                                      "trunc", "sign", "clamp", "log1p",  "expm1", "exp2"};
    static const std::set<std::string> reductions = {"sum", "mean", "max", "min", "prod", "stddev", "var", "median"};
    static const std::set<std::string> rearranged = {"trans",   "join_rows", "join_cols", "join_horiz", "join_vert",
                                                     "repmat",  "trimatu",   "trimatl",   "reshape",    "resize",
                                                     "diagmat", "kron",      "inv",       "sort",       "flipud",
                                                     "fliplr",  "normalise", "cumsum",    "cumprod"};
    const Value& first = values.front();
    Kind kind = Kind::unknown;
    if (elementwise.count(name) != 0) {
      kind = first.kind;
    } else if (rearranged.count(name) != 0) {
      kind = first.kind == Kind::cube ? Kind::cube : Kind::matrix;
    } else if (reductions.count(name) != 0) {
      const bool vector = first.kind == Kind::row || first.kind == Kind::column;
      if (vector || !first.arma()) return {vector ? Kind::number : Kind::unknown};
      const std::string dim = values.size() > 1 ? firsts[1] : "0";
      kind = first.kind == Kind::cube ? Kind::cube : dim == "0" ? Kind::row : dim == "1" ? Kind::column : Kind::matrix;
    }
    if (kind == Kind::unknown || kind == Kind::number) return {};
    Value value = expression_of(first, kind);
    for (const Value& other : values) value.dangles = value.dangles || (other.arma() && other.temporary);
    return value;
  }

  Value postfix() {
    Value value = primary();
    while (!failed_ && (text() == "." || text() == "->")) {
      ++at_;
      const std::string name = text();
      ++at_;
      if (text() == "(") {
        arguments();
        value = member_call(value, name);
      } else {
        const auto found = variables_.find(name);
        value = {found != variables_.end() ? found->second : value.arma() ? Kind::number : Kind::unknown};
      }
    }
    return value;
  }

  static Value member_call(const Value& of, const std::string& name) {
    static const std::map<std::string, Kind> parts = {
        {"row", Kind::row},          {"col", Kind::column},       {"rows", Kind::matrix},
        {"cols", Kind::matrix},      {"submat", Kind::matrix},    {"head_rows", Kind::matrix},
        {"head_cols", Kind::matrix}, {"tail_rows", Kind::matrix}, {"tail_cols", Kind::matrix},
        {"slices", Kind::cube},      {"subcube", Kind::cube},     {"tube", Kind::cube},
        {"each_row", Kind::matrix},  {"each_col", Kind::matrix},  {"diag", Kind::column}};
    if (!of.arma()) return {};
    if (name == "slice") return {Kind::matrix, false, true, of.temporary, of.temporary || of.dangles};
    if (name == "t") {
      const Kind kind = of.kind == Kind::row ? Kind::column : of.kind == Kind::column ? Kind::row : Kind::matrix;
      return expression_of(of, kind);
    }
    if (name == "eval") return {of.kind, false, false, true, false};
    const auto part = parts.find(name);
    if (part == parts.end()) return {Kind::number};
    return {part->second, true, true, true, of.temporary || of.dangles};
  }

  const std::vector<Token>& tokens_;
  std::size_t at_;
  const Names& variables_;
  const Names& functions_;
  bool failed_ = false;
};

// ------------------------------------------------------------------------------------------------------ declarations

/// Reads a file from its beginning, so that it knows of a name what was declared last.
class Scan {
 public:
  explicit Scan(const std::string& declarations) { read(declarations); }

  std::vector<Unfinished> read(const std::string& code) {
    tokens_ = tokens_of(code);
    found_.clear();
    for (at_ = 0; at_ + 1 < tokens_.size(); ++at_) {
      if (kind_of_type(text()) != Kind::unknown) declaration();
      if (text() == "auto") automatic();
    }
    return found_;
  }

 private:
  const std::string& text(std::size_t ahead = 0) const {
    static const std::string none;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : none;
  }

  /// "arma::mat A(2, 3);", "const arma::cube& X," or "arma::mat softmax(const arma::mat& x);". No name is known as both.
  void declaration() {
    const Kind kind = kind_of_type(text());
    std::size_t ahead = 1;
    while (text(ahead) == "&" || text(ahead) == "*" || text(ahead) == "const") ++ahead;
    if (text(ahead).empty() || !tokens_[at_ + ahead].is_name()) return;
    const std::string name = text(ahead);
    const std::string& after = text(ahead + 1);
    const std::string& argument = text(ahead + 2);
    const bool function = after == "(" &&
                          (argument == ")" || argument == "const" || kind_of_type(argument) != Kind::unknown) &&
                          text(ahead + 3) != "(";
    const auto member = name.rfind("::");
    (function ? functions_ : variables_)[member == std::string::npos ? name : name.substr(member + 2)] = kind;
    (function ? variables_ : functions_).erase(name);
  }

  /// "auto x = ...", with const or a reference.
  void automatic() {
    std::size_t ahead = 1;
    const bool reference = text(1) == "&";
    while (text(ahead) == "&" || text(ahead) == "&&") ++ahead;
    if (text(ahead + 1) != "=" || !tokens_[at_ + ahead].is_name()) return;
    const std::string name = text(ahead);
    variables_.erase(name);
    Expression expression(tokens_, at_ + ahead + 2, variables_, functions_);
    const Value value = expression.read();
    if (!value.arma() || !expression.ends_with(";")) return;
    variables_[name] = value.kind;
    const bool copied = !value.unfinished && !reference;  // a matrix is its own
    if (copied || (!value.unfinished && !value.dangles) || (value.view && !value.dangles)) return;
    found_.push_back({tokens_[at_].line, name, type_of(value.kind), value.dangles});
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Names variables_;
  Names functions_;
  std::vector<Unfinished> found_;
};

}  // namespace

std::vector<Unfinished> unfinished_expressions(const std::string& code, const std::string& declarations) {
  return Scan(declarations).read(code);
}

std::string advice(const Unfinished& found) {
  const std::string what = found.dangles ? "whose parts may be gone by the next line"
                                         : "computed again at each use, from what its parts hold by then";
  const std::string type =
      found.type.empty() ? "its type, such as arma::mat" : found.type + " " + found.name + " = ...";
  return "line " + std::to_string(found.line) + ": auto keeps an unfinished Armadillo expression, " + what +
         "; write " + type;
}

}  // namespace attn::judge
