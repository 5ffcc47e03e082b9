// The checks' view of the class in self_attention_interview.hpp: compiled with the learner's header.
namespace attn {
class SelfAttentionInterview;  // so that a missing or misspelt class gives a sentence
}  // namespace attn
#include "checks/blank_class.hpp"
#include "self_attention_interview.hpp"

ATTN_REQUIRE_INTERVIEW_CLASS(SelfAttentionInterview,
                             "explicit SelfAttentionInterview(arma::uword dim, double dropout_p = 0.1);", arma::uword)

namespace attn::judge {

std::unique_ptr<AttentionUnderTest> make_attention(const std::vector<arma::uword>& sizes, std::optional<double> p) {
  return interview::make<SelfAttentionInterview>(
      "05.1", "lessons/05_interview_self_attention/self_attention_interview.hpp", p, sizes.at(0));
}

}  // namespace attn::judge
