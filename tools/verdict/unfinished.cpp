#include "verdict/unfinished.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "lesson/text.hpp"
#include "verdict/place.hpp"

namespace attn::judge {

namespace {

/// What is known of a part of an expression.
struct Value {
  std::string type;         ///< "mat", "cube", "rowvec", "vec"; "number"; empty where it is not known
  bool unfinished = false;  ///< an expression, not its result
  bool view = false;        ///< of a part of something: fine as long as that is there
  bool temporary = false;   ///< gone at the end of the statement
  bool dangles = false;     ///< refers to something that is

  bool arma() const { return !type.empty() && type != "number"; }
};

const Value number = {"number"};

Value expression_of(const Value& operand, const std::string& type) {
  return {type, true, false, true, operand.temporary || operand.dangles};
}

/// "rowvec" for arma::frowvec; empty for what is not a matrix.
std::string type_named(const std::string& name) {
  static const std::regex matrix("arma::[fu]?(mat|cube|rowvec|vec|colvec)");
  std::smatch type;
  if (name == "Mask") return "cube";
  if (!std::regex_match(name, type, matrix)) return {};
  return type[1] == "colvec" ? "vec" : type[1].str();
}

bool is_listed(const std::string& name, const char* names) {
  return (" " + std::string(names) + " ").find(" " + name + " ") != std::string::npos;
}

/// What a function of Armadillo makes of its first argument. @param dim the second argument
Value called(const std::string& name, const Value& of, const std::string& dim) {
  if (is_listed(name,
                "trans join_rows join_cols join_horiz join_vert repmat trimatu trimatl reshape resize diagmat "
                "kron inv sort flipud fliplr normalise cumsum cumprod")) {
    return expression_of(of, of.type == "cube" ? "cube" : "mat");
  }
  const bool vector = of.type == "rowvec" || of.type == "vec";
  if (!of.arma()) return {};
  if (is_listed(name, "exp log sqrt square abs pow tanh sin cos floor ceil round trunc sign clamp log1p expm1 exp2")) {
    return expression_of(of, of.type);
  }
  if (is_listed(name, "sum mean max min prod stddev var median")) {
    if (vector) return number;
    if (of.type == "cube") return expression_of(of, "cube");
    return expression_of(of, dim.empty() || dim == "0" ? "rowvec" : dim == "1" ? "vec" : "mat");
  }
  return {};
}

/// What a member function gives.
Value member_called(const std::string& name, const Value& of) {
  static const std::map<std::string, std::string> parts = {{"row", "rowvec"}, {"col", "vec"},     {"diag", "vec"},
                                                           {"tube", "cube"},  {"slices", "cube"}, {"subcube", "cube"},
                                                           {"slice", "mat"}};
  if (!of.arma()) return {};
  if (name == "t") return expression_of(of, of.type == "rowvec" ? "vec" : of.type == "vec" ? "rowvec" : "mat");
  if (name == "eval") return {of.type, false, false, true, false};
  const auto part = parts.find(name);
  const bool of_matrix = is_listed(name, "rows cols submat head_rows head_cols tail_rows tail_cols each_row each_col");
  if (part == parts.end() && !of_matrix) return number;
  Value value = expression_of(of, of_matrix ? "mat" : part->second);
  value.view = true;
  if (name != "slice") return value;
  value.unfinished = false;  // a slice is a matrix
  value.temporary = of.temporary;
  return value;
}

Value combined(const Value& a, const Value& b, char sign) {
  if (!a.arma() && !b.arma()) return a.type == b.type ? Value{a.type} : Value{};
  std::string type = a.arma() ? a.type : b.type;
  if (sign == '*' && a.arma() && b.arma()) {
    type = a.type == "rowvec" && b.type != "vec" ? "rowvec" : b.type == "vec" ? "vec" : "mat";
  }
  const auto gone = [](const Value& one) { return one.arma() && (one.temporary || one.dangles); };
  return {type, true, false, true, gone(a) || gone(b)};
}

/// A variable, or a function and what it returns.
struct Name {
  std::string type;
  bool is_function = false;
};
using Names = std::map<std::string, Name>;

/// Reads one expression of a statement. Gives up, with a value of no type, at anything that it does not know.
class Expression {
 public:
  Expression(const std::string& code, std::size_t at, const Names& names) : code_(code), at_(at), names_(names) {}

  Value statement() {
    const Value value = sum();
    return !failed_ && next() == ';' ? value : Value{};
  }

 private:
  char next() {
    while (at_ < code_.size() && std::isspace(static_cast<unsigned char>(code_[at_])) != 0) ++at_;
    return at_ < code_.size() ? code_[at_] : '\0';
  }

  bool take(const std::string& text) {
    next();
    const bool found = code_.compare(at_, text.size(), text) == 0;
    if (found) at_ += text.size();
    return found;
  }

  Value fail() {
    failed_ = true;
    return {};
  }

  Value sum() { return chain("+-", &Expression::product); }

  Value product() { return chain("*/%", &Expression::factor); }

  /// Operands with one of these signs between them.
  Value chain(const std::string& signs, Value (Expression::*operand)()) {
    Value left = (this->*operand)();
    while (!failed_ && signs.find(next()) != std::string::npos) {
      const char sign = code_[at_++];
      left = combined(left, (this->*operand)(), sign);
    }
    return left;
  }

  Value factor() {
    const bool negative = take("-");
    Value value = primary();
    while (!failed_ && (take(".") || take("->"))) {
      const std::string member = name();
      const auto field = names_.find(member);
      if (next() == '(') {
        arguments();
        value = member_called(member, value);
      } else {
        value = field != names_.end() ? Value{field->second.type} : value.arma() ? number : Value{};
      }
    }
    return negative && value.arma() ? expression_of(value, value.type) : value;
  }

  Value primary() {
    if (next() == '(') {
      const auto values = arguments();
      return values.size() == 1 ? values.front().first : fail();
    }
    if (std::isdigit(static_cast<unsigned char>(next())) != 0) {
      while (is_word(code_[at_]) || code_[at_] == '.' || code_[at_] == '\'') ++at_;
      return number;
    }
    const std::string what = name();
    if (what.empty()) return fail();
    const std::string type = template_argument();
    if (next() == '(') return call(what, type);
    const auto known = names_.find(what);
    return known == names_.end() ? Value{} : Value{known->second.type};
  }

  /// "arma::exp"; empty where there is no name.
  std::string name() {
    next();
    const auto begin = at_;
    while (is_word(code_[at_]) || code_.compare(at_, 2, "::") == 0) at_ += is_word(code_[at_]) ? 1 : 2;
    return code_.substr(begin, at_ - begin);
  }

  /// "arma::mat" of "<arma::mat>(" or of "<arma::mat>::from(", which is passed over.
  std::string template_argument() {
    static const std::regex argument(R"(<([\w:]+)>(?:::\w+)?(?=\())");
    std::smatch found;
    const auto begin = code_.begin() + static_cast<std::ptrdiff_t>(at_);
    if (!std::regex_search(begin, code_.end(), found, argument, std::regex_constants::match_continuous)) return {};
    at_ += static_cast<std::size_t>(found.length());
    return found[1];
  }

  /// The values between parentheses, and as they are written.
  std::vector<std::pair<Value, std::string>> arguments() {
    std::vector<std::pair<Value, std::string>> values;
    take("(");
    while (!failed_ && !take(")")) {
      next();
      const auto begin = at_;
      const Value value = sum();
      values.emplace_back(value, code_.substr(begin, at_ - begin));
      if (!take(",") && next() != ')') fail();
    }
    return values;
  }

  Value call(const std::string& name, const std::string& type) {
    const auto values = arguments();
    const auto known = names_.find(name);
    if (known != names_.end() && !known->second.is_function) {  // an element, or with arma::span a part
      const bool part = std::any_of(values.begin(), values.end(),
                                    [](const auto& one) { return one.second.rfind("arma::span", 0) == 0; });
      return part ? Value{known->second.type, true, true, true, false} : number;
    }
    if (known != names_.end()) return {known->second.type, false, false, true, false};
    const std::string made = type_named(type.empty() ? name : type);
    if (!made.empty()) return {made, false, false, true, false};
    if (name == "static_cast" || name.rfind("std::", 0) == 0) return number;
    const bool of_armadillo = name.rfind("arma::", 0) == 0;
    if (values.empty() || (!of_armadillo && !values[0].first.arma())) return {};
    Value value =
        called(of_armadillo ? name.substr(6) : name, values[0].first, values.size() > 1 ? values[1].second : "");
    for (const auto& [other, text] : values) value.dangles |= value.arma() && other.arma() && other.temporary;
    return value;
  }

  const std::string& code_;
  std::size_t at_;
  const Names& names_;
  bool failed_ = false;
};

/// Reads code from its beginning, so that it knows of a name what was declared last.
std::vector<Unfinished> scan(const std::string& code, Names& names) {
  static const std::regex declaration(
      R"(\bauto\s*(&?)&?\s*\b(\w+)\s*=|\b(arma::\w+|Mask)\b(?:[\s&*]|\bconst\b)*\b([A-Za-z_][\w:]*)\s*)"
      R"((\(\s*(?:\)|const\b|arma::[fu]?(?:mat|cube|rowvec|vec|colvec)\b(?!\s*\()))?)");
  std::vector<Unfinished> found;
  for (std::sregex_iterator at(code.begin(), code.end(), declaration); at != std::sregex_iterator(); ++at) {
    const std::smatch& match = *at;
    if (const std::string type = type_named(match[3]); match[3].matched) {
      const std::string name = match[4].str().substr(match[4].str().rfind(':') + 1);
      if (!type.empty()) names[name] = {type, match[5].matched};
      continue;
    }
    const std::string name = match[2];
    names.erase(name);
    const auto end = static_cast<std::size_t>(match.position() + match.length());
    const Value value = Expression(code, end, names).statement();
    if (!value.arma()) continue;
    names[name] = {value.type};
    const bool copied = !value.unfinished && (!value.dangles || match[1].length() == 0);  // a matrix is its own
    if (copied || (value.view && !value.dangles)) continue;
    const auto line = 1 + std::count(code.begin(), code.begin() + match.position(), '\n');
    found.push_back({static_cast<int>(line), name, "arma::" + value.type, value.dangles});
  }
  return found;
}

}  // namespace

std::vector<Unfinished> unfinished_expressions(const std::string& code, const std::string& declarations) {
  Names names;
  scan(without_comments(declarations), names);
  return scan(without_comments(code), names);
}

std::string advice(const Unfinished& found) {
  const std::string what = found.dangles ? "whose parts may be gone by the next line"
                                         : "computed again at each use, from what its parts hold by then";
  return "line " + std::to_string(found.line) + ": auto keeps an unfinished Armadillo expression, " + what +
         "; write " + found.type + " " + found.name + " = ...";
}

}  // namespace attn::judge
