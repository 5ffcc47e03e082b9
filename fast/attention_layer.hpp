#pragma once

#include <armadillo>
#include <vector>

#include "attn/linear.hpp"
#include "kernels.hpp"
#include "panels.hpp"
#include "query_group.hpp"
#include "tasks.hpp"
#include "team.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {

/// The weights of a Linear in float, in the order in which project() reads them. Its columns are cut into bands, one
/// per head, and each band into tiles; the weights of the tile that begins at column c begin at float c · inputs.
class PackedLinear {
 public:
  /// @param band           columns of a band
  /// @param scaled_columns the first so many columns are multiplied by `factor`, weights and bias
  PackedLinear(const Linear& linear, std::size_t band, const Kernels& kernels, std::size_t scaled_columns = 0,
               float factor = 1);

  /// The columns of one band, for some panels.
  /// @param number of the band
  /// @param x      panels of `inputs` columns
  /// @param result where the band's first column goes, for each panel
  void project(std::size_t number, ConstPanels x, const std::vector<Columns>& result) const;

  /// The same for a few tokens in rows, which need no panel.
  /// @param x      (L x inputs), L at most few_rows
  /// @param result (L x outputs), all columns
  void project_few(std::size_t number, ConstRows x, std::size_t L, Rows result) const;

 private:
  Range tile_at(std::size_t tile) const;  ///< its columns, counted from the first of the band

  const Kernels& kernels_;
  std::size_t inputs_, band_, tiles_;  // tiles of a band
  AlignedFloats weights_;
  std::vector<float> bias_;
};

/// Multi-head self-attention, the whole layer of lesson 08 in float: one projection to queries, keys and values, flash
/// attention, the output projection. In eval mode: without dropout.
///
/// Besides input and output it keeps its packed weights and some working memory, from one forward to the next: the size
/// of X for the queries, keys and values of as many heads as fit into 16 MiB (of one head at least), and a few MiB; and
/// its threads, as many as OpenMP had when it was made.
class AttentionLayer {
 public:
  /// @param qkv_proj    E -> 3E, as in FusedMultiHeadAttention, with or without a bias
  /// @param output_proj E -> E, likewise
  /// @param memory_for_heads bytes: keys and values of as many heads as fit in there are kept at the same time
  /// @throws std::invalid_argument naming num_heads, or the weight or bias of qkv_proj or output_proj, what it was and
  ///         what was expected.
  AttentionLayer(const Linear& qkv_proj, const Linear& output_proj, arma::uword num_heads,
                 const Kernels& kernels = *usable_kernels().front(), std::size_t memory_for_heads = 16 << 20);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument naming X, its shape and what was expected.
  arma::fcube forward(const arma::fcube& X, bool causal = false);

 private:
  /// Where a panel's tokens are in X and in the output.
  struct Place {
    std::size_t sequence, row;
  };

  arma::fcube forward_few(const arma::fcube& X, bool causal);
  void attend_few(std::size_t b, std::size_t h, bool causal);

  Place place_of(std::size_t panel) const { return {panel / per_sequence_, panel % per_sequence_ * R_}; }
  void reserve();
  void pack(const arma::fcube& X, std::size_t panel, std::size_t slot);
  void project(Range heads, Range chunk, const ProjectionTask& task);
  void attend(Range heads, const AttentionTask& task, bool causal, QueryGroup& own);
  void project_output(const ProjectionTask& task, arma::fcube& output) const;

  std::size_t E_, H_, D_, R_, memory_for_heads_;
  PackedLinear qkv_, output_;
  Team team_;
  std::vector<QueryGroup> query_groups_;  // one for each thread

  // The forward that runs, or ran last. Panels are numbered through all sequences.
  std::size_t L_ = 0, B_ = 0, per_sequence_ = 0, panels_ = 0, heads_together_ = 0;
  AlignedFloats inputs_;         // a chunk of X
  AlignedFloats queries_;        // all panels, E columns; each head's context takes its queries' place
  AlignedFloats keys_, values_;  // all panels, D columns for each head of those that are taken together
};

}  // namespace attn::fast
