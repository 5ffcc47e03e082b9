#pragma once

#include <armadillo>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "attn/todo.hpp"

/// Interview lessons: the learner writes a whole class in a header of the lesson's own. Its checks see it through an
/// interface, so that they are compiled once, and not anew at every save; one small file, NN_name_adapter.cpp, is
/// compiled with the learner's header. A name that is missing there gives one plain sentence, and no page of templates.
namespace attn::judge {

class AttentionUnderTest {
 public:
  virtual ~AttentionUnderTest() = default;
  virtual Linear& query_proj() = 0;
  virtual Linear& key_proj() = 0;
  virtual Linear& value_proj() = 0;
  virtual Linear& output_proj() = 0;
  virtual Dropout& dropout() = 0;
  virtual arma::cube forward(const arma::cube& X) = 0;
  virtual arma::cube forward(const arma::cube& X, const Mask& mask) = 0;
  virtual arma::cube attention_weights() const = 0;
};

/// Constructs the learner's class: from one size (dim) or two (embed_dim, num_heads), and dropout's p if it is given.
/// Defined in the lesson's adapter.
std::unique_ptr<AttentionUnderTest> make_attention(const std::vector<arma::uword>& sizes,
                                                   std::optional<double> p = std::nullopt);

namespace interview {

#define ATTN_DETECT(trait, expression, wanted) \
  template <class T, class = void>             \
  struct trait : std::false_type {};           \
  template <class T>                           \
  struct trait<T, std::void_t<expression>> {   \
    using Found = expression;                  \
    static constexpr bool value = wanted;      \
  };
ATTN_DETECT(Complete, decltype(sizeof(T)), true)
ATTN_DETECT(HasQueryProj, decltype(std::declval<T&>().query_proj), (std::is_same_v<Found, Linear>))
ATTN_DETECT(HasKeyProj, decltype(std::declval<T&>().key_proj), (std::is_same_v<Found, Linear>))
ATTN_DETECT(HasValueProj, decltype(std::declval<T&>().value_proj), (std::is_same_v<Found, Linear>))
ATTN_DETECT(HasOutputProj, decltype(std::declval<T&>().output_proj), (std::is_same_v<Found, Linear>))
ATTN_DETECT(HasDropout, decltype(std::declval<T&>().dropout), (std::is_same_v<Found, Dropout>))
ATTN_DETECT(HasForward, decltype(std::declval<T&>().forward(std::declval<const arma::cube&>())),
            (std::is_convertible_v<Found, arma::cube>))
ATTN_DETECT(HasMaskedForward,
            decltype(std::declval<T&>().forward(std::declval<const arma::cube&>(), std::declval<const Mask&>())),
            (std::is_convertible_v<Found, arma::cube>))
ATTN_DETECT(HasWeights, decltype(std::declval<const T&>().attention_weights()),
            (std::is_convertible_v<Found, arma::cube>))
#undef ATTN_DETECT

template <class T, class... Arguments>
using MadeFrom = std::conjunction<Complete<T>, std::is_constructible<T, Arguments...>>;

/// Nothing is written yet: no field, and none of the required functions.
template <class T>
constexpr bool is_blank =
    std::conjunction_v<Complete<T>, std::is_empty<T>, std::negation<HasForward<T>>, std::negation<HasWeights<T>>>;

template <class T, class... Sizes>
constexpr bool is_whole = Complete<T>::value&& HasQueryProj<T>::value&& HasKeyProj<T>::value&& HasValueProj<T>::value&&
    HasOutputProj<T>::value&& HasDropout<T>::value&& HasForward<T>::value&& HasMaskedForward<T>::value&&
        HasWeights<T>::value&& MadeFrom<T, Sizes...>::value&& MadeFrom<T, Sizes..., double>::value;

template <class T>
class Adapter final : public AttentionUnderTest {
 public:
  template <class... Arguments>
  explicit Adapter(Arguments... arguments) : it_(arguments...) {}
  Linear& query_proj() override { return it_.query_proj; }
  Linear& key_proj() override { return it_.key_proj; }
  Linear& value_proj() override { return it_.value_proj; }
  Linear& output_proj() override { return it_.output_proj; }
  Dropout& dropout() override { return it_.dropout; }
  arma::cube forward(const arma::cube& X) override { return it_.forward(X); }
  arma::cube forward(const arma::cube& X, const Mask& mask) override { return it_.forward(X, mask); }
  arma::cube attention_weights() const override { return it_.attention_weights(); }

 private:
  T it_;
};

/// @throws NotWritten when the class is blank.
template <class T, class... Sizes>
std::unique_ptr<AttentionUnderTest> make(const std::string& task, const char* header, std::optional<double> p,
                                         Sizes... sizes) {
  if constexpr (is_whole<T, Sizes...>) {
    if (p) return std::make_unique<Adapter<T>>(sizes..., *p);
    return std::make_unique<Adapter<T>>(sizes...);
  } else {
    todo(task, header, 1);
  }
}

}  // namespace interview
}  // namespace attn::judge

/// What a compiler says of a class that is begun but not whole: one sentence for each name that is missing.
/// `constructor` is its declaration as text; the types of its sizes follow.
#define ATTN_REQUIRE_INTERVIEW_CLASS(Class, constructor, ...)                                                         \
  namespace attn::judge::interview {                                                                                  \
  static_assert(Complete<Class>::value, "the header has no class attn::" #Class                                       \
                                        ": is its name right, and is it "                                             \
                                        "in namespace attn?");                                                        \
  template <class Has>                                                                                                \
  constexpr bool fine = !Complete<Class>::value || is_blank<Class> || Has::value;                                     \
  static_assert(fine<HasQueryProj<Class>>, #Class " needs a public field:  Linear query_proj;");                      \
  static_assert(fine<HasKeyProj<Class>>, #Class " needs a public field:  Linear key_proj;");                          \
  static_assert(fine<HasValueProj<Class>>, #Class " needs a public field:  Linear value_proj;");                      \
  static_assert(fine<HasOutputProj<Class>>, #Class " needs a public field:  Linear output_proj;");                    \
  static_assert(fine<HasDropout<Class>>, #Class " needs a public field:  Dropout dropout;");                          \
  static_assert(fine<std::disjunction<HasForward<Class>, HasMaskedForward<Class>>>,                                   \
                #Class " needs a public function:  arma::cube forward(const arma::cube& X, const Mask& mask = {});"); \
  static_assert(fine<std::disjunction<HasForward<Class>, std::negation<HasMaskedForward<Class>>>>,                    \
                #Class "::forward must also take X alone: give the mask a default, const Mask& mask = {}");           \
  static_assert(fine<std::disjunction<HasMaskedForward<Class>, std::negation<HasForward<Class>>>>,                    \
                #Class "::forward must also take a mask: forward(const arma::cube& X, const Mask& mask = {})");       \
  static_assert(fine<HasWeights<Class>>,                                                                              \
                #Class " needs a public function:  const arma::cube& attention_weights() const;");                    \
  static_assert(fine<std::disjunction<MadeFrom<Class, __VA_ARGS__>, MadeFrom<Class, __VA_ARGS__, double>>>,           \
                #Class " needs a public constructor:  " constructor);                                                 \
  static_assert(                                                                                                      \
      fine<std::disjunction<MadeFrom<Class, __VA_ARGS__>, std::negation<MadeFrom<Class, __VA_ARGS__, double>>>>,      \
      #Class ": give dropout_p a default:  " constructor);                                                            \
  static_assert(                                                                                                      \
      fine<std::disjunction<MadeFrom<Class, __VA_ARGS__, double>, std::negation<MadeFrom<Class, __VA_ARGS__>>>>,      \
      #Class ": the constructor needs dropout_p too:  " constructor);                                                 \
  }
