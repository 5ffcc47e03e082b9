// The checks' view of the class in multi_head_attention_interview.hpp: compiled with the learner's header.
namespace attn {
class MultiHeadAttentionInterview;  // so that a missing or misspelt class gives a sentence
}  // namespace attn
#include "checks/blank_class.hpp"
#include "multi_head_attention_interview.hpp"

ATTN_REQUIRE_INTERVIEW_CLASS(
    MultiHeadAttentionInterview,
    "MultiHeadAttentionInterview(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1);", arma::uword,
    arma::uword)

namespace attn::judge {

std::unique_ptr<AttentionUnderTest> make_attention(const std::vector<arma::uword>& sizes, std::optional<double> p) {
  return interview::make<MultiHeadAttentionInterview>(
      "12.1", "lessons/12_interview_multi_head/multi_head_attention_interview.hpp", p, sizes.at(0), sizes.at(1));
}

}  // namespace attn::judge
