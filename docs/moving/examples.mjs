// The small examples of figures/broken.vue, by lesson: what is asked, and which matrices of the answer are shown.
//   often      the mistakes to try first
//   leaveOut   those that cannot show here: in what is thrown, in what is copied, with dropout, or with several sequences
const count = (n) => Array.from({ length: n }, (_, i) => i);
const named = (what, n) => count(n).map((i) => `${what} ${i}`);

// Numbers from -2 to 2 that look drawn, always the same
const drawn = (rows, columns, seed) => count(rows).map((i) => count(columns).map((j) => ((7 * i * i + 3 * j * j + 5 * i * j + 11 * seed + i + 2 * j) % 9) / 2 - 2));
const linear = (inside, outside, seed) => ({ weight: drawn(inside, outside, seed).map((row) => row.map((x) => x / 4)), bias: drawn(1, outside, seed + 1) });
const projections = (E, queries = E, keys = E) => ({ query_proj: linear(E, queries, 1), key_proj: linear(E, keys, 2), value_proj: linear(E, keys, 4), output_proj: linear(queries, E, 6) });
const causal = (L) => count(L).map((i) => count(L).map((j) => (j <= i ? 1 : 0)));
const output = (L, E) => ({ name: "output", from: ({ output }) => output, rows: named("token", L), columns: count(E), most: 4, colour: "value" });
const weights = (head, L, S, row = "token") => ({ name: `weights of head ${head}`, from: (of) => of.weights[head], rows: named(row, L), columns: count(S) });

export default {
  "07": {
    question: "multi_head",
    request: { X: drawn(4, 6, 3), heads: 2, mask: causal(4), ...projections(6) },
    title: "Break multi-head attention",
    tries: "Four tokens, two heads, a causal mask. Choose a mistake, and look where the red frames are: in the weights of one head, of both, or in the output alone? That is how you find it in your own code.",
    often: ["root_embed_dim", "unscaled", "keys_times_queries", "softmax_columns", "keys_with_query_proj", "mask_head_0_only", "mask_after_softmax", "merge_without_regrouping", "merge_reversed", "split_interleaved", "output_projection_missing", "weights_averaged"],
    leaveOut: /dropout|copied|unchecked|always_causal|modulo|slice_index|values_reversed|heads_do_not_divide|without_bias|batch|sequence|_slice|nan_|wide_heads|last_|only_first|minus_1e/,
    shows: [weights(0, 4, 4), weights(1, 4, 4), output(4, 6)],
  },
  "09": {
    question: "cross",
    request: { query: drawn(3, 6, 5), memory: drawn(4, 6, 8), heads: 2, mask: [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0]], ...projections(6) },
    title: "Break cross-attention",
    tries: "Three queries, a memory of four tokens, of which the last is padding. Which mistakes change the keys of the memory already, and which come later?",
    often: ["projections_exchanged", "self_attention", "query_proj_for_keys", "key_proj_for_values", "softmax_queries", "mask_ignored", "mask_inverted", "mask_after_softmax", "causal_from_the_start", "heads_not_split", "contexts_averaged", "output_proj_forgotten"],
    leaveOut: /dropout|dropped|copied|training|batch|sequence|_slice|nan_|wide_heads|last_|only_first|select|stale|minus_1e|values_reversed|one_slice|values_from_key|keys_from_value|queries_masked|mask_first_row|divided_by_root_queries|memory_not_split|fill_1e9/,
    shows: [{ name: "keys of head 0", from: (of) => of.keys[0], rows: named("key", 4), columns: count(3), most: 4, colour: "key" }, weights(0, 3, 4, "query"), weights(1, 3, 4, "query"), { ...output(3, 6), rows: named("query", 3) }],
  },
  16: {
    question: "cached",
    request: { X: drawn(5, 6, 2), heads: 2, prompt: 2, ...projections(6) },
    title: "Break the cache",
    tries: "Tokens 0 and 1 are the prompt, token 2 comes alone, tokens 3 and 4 come together. A mistake of the prompt, of one more token, or of a chunk: the rows show which. What does the cache hold?",
    often: ["prefill_not_causal", "decode_appends_after", "decode_first_key_hidden", "extend_mask_top_left", "extend_sees_the_future", "extend_begins_again", "extend_appends_after", "extend_keys_for_values", "extend_queries_cached", "extend_new_token_hidden", "extend_exchanges_projections", "extend_without_output_proj"],
    leaveOut: /sequence|batch|ragged|longest|shortest|padding|capacity_|rejected|accepted|grow|flops|bytes|weights|intensity|counted|cache_of_one|layer_of_one|cache_not_read|cache_without|without_bias|second_prefill|shared_length|integer_division|scores_or_mixing|keys_or_values_forgotten|numbers_for|first_slice|slice_0|appends_twice|prefill_from_the_cache|last_rows_kept|added_in_reverse|length_is_capacity/,
    shows: [{ ...output(5, 6), rows: ["prompt 0", "prompt 1", "decode 2", "chunk 3", "chunk 4"] }, { name: "keys of head 0 in the cache", from: (of) => of.keys[0].slice(0, 5), rows: named("token", 5), columns: count(3), most: 4, colour: "key" }],
  },
  21: {
    question: "decoder",
    request: { X: drawn(5, 6, 2), heads: 2, kv_heads: 1, head_dim: 4, window: 3, bias: false, calls: [3, 1, 1], ...projections(6, 8, 4) },
    title: "Break the attention of a decoder",
    tries: "Two query heads share one key head; a window of three keys; the first call has three tokens, then one comes at a time. Positions that begin again with every call show from call 1 on: why not before? And why does a missing RoPE show at token 1, but never at token 0?",
    often: ["rope_restarts", "rope_forgotten", "queries_not_turned", "values_turned", "cached_keys_turned_again", "window_ignored", "window_one_short", "own_key_blocked", "next_key_visible", "old_tokens_forgotten", "unscaled", "keys_mixed"],
    leaveOut: /sequence|longest|_first$|first_head|norm|cap_|soft_cap|capped|bias|reset|empty|padding|head_dim_stays|speeds|keys_for_all_heads|keys_by_group|output_from|cache_for|packed|transposed|zero_blocks|underflows/,
    shows: [{ ...output(5, 6), rows: ["call 0: 0", "call 0: 1", "call 0: 2", "call 1: 3", "call 2: 4"] }, { name: "keys in the cache", from: (of) => of.keys[0].slice(0, 5), rows: named("token", 5), columns: count(4), most: 4, colour: "key" }],
  },
  24: {
    question: "backward",
    request: { Q: drawn(3, 2, 1), K: drawn(4, 2, 5), V: drawn(4, 2, 2), d_context: drawn(3, 2, 7), mask: [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]] },
    title: "Break the gradients",
    tries: "Nothing shows in the forward pass, and all shapes are right: a training only learns worse. Here you see which gradient is wrong. Which mistakes leave d_V as it is, and why?",
    often: ["row_sum_forgotten", "sum_over_queries", "softmax_skipped", "d_Q_unscaled", "d_K_unscaled", "d_K_not_transposed", "d_K_with_keys", "V_not_transposed", "not_times_the_weights", "d_K_overwritten", "gradients_negated", "unscaled"],
    leaveOut: /drop|keep|p_not_kept|slice|nan_|uniform_row|gradient_not_rescaled/,
    shows: [
      { name: "d_Q", from: ({ d_Q }) => d_Q, rows: named("query", 3), columns: count(2), most: 2, colour: "query" },
      { name: "d_K", from: ({ d_K }) => d_K, rows: named("key", 4), columns: count(2), most: 2, colour: "key" },
      { name: "d_V", from: ({ d_V }) => d_V, rows: named("value", 4), columns: count(2), most: 2, colour: "value" },
      { name: "weights", from: (of) => of.weights, rows: named("query", 3), columns: count(4) },
    ],
  },
};
