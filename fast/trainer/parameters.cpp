#include "trainer/parameters.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/shape.hpp"
#include "trainer/arrays.hpp"
#include "units.hpp"

namespace attn::fast {

using std::size_t;

TrainerParameters::TrainerParameters(const LanguageModelConfig& config, const std::vector<ParameterView>& views,
                                     size_t R)
    : R_(R) {
  const DecoderAttentionConfig& attention = config.attention;
  const bool gpt2 = config.architecture == Architecture::gpt2;
  const size_t E = attention.embed_dim, F = config.hidden_dim, V = config.vocab_size;
  const size_t queries = attention.num_heads * attention.head_dim, keys = attention.num_kv_heads * attention.head_dim;
  // in the order of parameters_of
  tokens = add(V, E, true);
  name_piece("token_embedding", tokens);
  if (gpt2) {
    positions = add(config.max_position, E, true);
    name_piece("position_embedding", positions);
  }
  for (size_t n = 0; n < config.num_layers; ++n) {
    const std::string block = "blocks." + std::to_string(n) + ".", of_attention = block + "attention.";
    const std::string of_network = block + "feed_forward.";
    BlockPlaces& places = blocks.emplace_back();
    places.attention_norm = add_norm(block + "attention_norm", E, gpt2);
    places.qkv = add_linear({of_attention + "query_proj", of_attention + "key_proj", of_attention + "value_proj"}, E,
                            {queries, keys, keys}, attention.bias);
    places.output = add_linear({of_attention + "output_proj"}, queries, {E}, attention.bias);
    places.feed_forward_norm = add_norm(block + "feed_forward_norm", E, gpt2);
    if (gpt2) {
      places.up = add_linear({of_network + "up_proj"}, E, {F}, true);
    } else {
      places.up = add_linear({of_network + "gate_proj", of_network + "up_proj"}, E, {F, F}, false);
    }
    places.down = add_linear({of_network + "down_proj"}, F, {E}, gpt2);
  }
  final_norm = add_norm("final_norm", E, gpt2);
  if (!config.tied_head) {
    head = add(E, V, true);
    name_piece("head", head);
  }
  require_own("parameters", views);  // before memory is taken for sizes that may be wrong
  values = zeros(size_);
  std::vector<const double*> columns;
  for (const ParameterView& view : views) columns.push_back(view.values);
  read(columns, values);
}

Place TrainerParameters::add(size_t rows, size_t columns, bool decayed) {
  places_.push_back({size_, rows, columns, decayed});
  size_ += divided_up(columns, R_) * R_ * rows;
  return places_.back();
}

void TrainerParameters::name_piece(const std::string& name, const Place& place) {
  pieces_.push_back({name, place, 0, place.columns});
}

NormPlaces TrainerParameters::add_norm(const std::string& name, size_t E, bool bias) {
  NormPlaces places;
  places.weight = add(1, E, false);
  name_piece(name + ".weight", places.weight);
  if (bias) {
    places.bias = add(1, E, false);
    name_piece(name + ".bias", places.bias);
  }
  return places;
}

LinearPlaces TrainerParameters::add_linear(const std::vector<std::string>& names, size_t inputs,
                                           const std::vector<size_t>& outputs, bool bias) {
  size_t all = 0;
  for (const size_t count : outputs) all += count;
  LinearPlaces places;
  places.weight = add(inputs, all, true);
  if (bias) places.bias = add(1, all, false);
  for (size_t i = 0, column = 0; i < names.size(); column += outputs[i++]) {
    pieces_.push_back({names[i] + ".weight", places.weight, column, outputs[i]});
    if (bias) pieces_.push_back({names[i] + ".bias", places.bias, column, outputs[i]});
  }
  return places;
}

std::vector<TrainerParameters::Section> TrainerParameters::sections() const {
  std::vector<Section> sections;
  for (const Place& place : places_) {
    const size_t end = place.first + divided_up(place.columns, R_) * R_ * place.rows;
    for (size_t first = place.first; first < end; first += numbers_per_task) {
      sections.push_back({first, std::min(numbers_per_task, end - first), place.decayed});
    }
  }
  return sections;
}

std::vector<size_t> TrainerParameters::sizes() const {
  std::vector<size_t> sizes;
  for (const Piece& piece : pieces_) sizes.push_back(piece.place.rows * piece.columns);
  return sizes;
}

void TrainerParameters::require_own(const std::string& name, const std::vector<ParameterView>& views) const {
  const auto refuse = [&](const std::string& what) { throw std::invalid_argument(name + " has " + what); };
  if (views.size() != pieces_.size()) {
    refuse(std::to_string(views.size()) + " entries, expected " + std::to_string(pieces_.size()));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const Piece& piece = pieces_[i];
    const size_t size = require_product({{piece.name + ", its rows", piece.place.rows}, {"columns", piece.columns}});
    if (views[i].name != piece.name) refuse(views[i].name + ", expected " + piece.name);
    if (views[i].size != size) {
      refuse(std::to_string(views[i].size) + " numbers for " + piece.name + ", expected " + std::to_string(size));
    }
    if (views[i].decayed != piece.place.decayed) refuse(piece.name + " with another weight decay than parameters_of");
  }
}

/// Calls each(number of the column's element, number in the array): Armadillo's matrices are column-major.
template <class Each>
void TrainerParameters::for_numbers(const Piece& piece, Each each) const {
  const size_t rows = piece.place.rows;
  for (size_t c = 0; c < piece.columns; ++c) {
    const size_t column = piece.first_column + c;
    const size_t first = piece.place.first + column / R_ * R_ * rows + column % R_;
    for (size_t r = 0; r < rows; ++r) each(c * rows + r, first + r * R_);
  }
}

void TrainerParameters::read(const std::vector<const double*>& columns, const AlignedFloats& array) const {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    for_numbers(pieces_[i], [&](size_t from, size_t to) { array.data()[to] = static_cast<float>(columns[i][from]); });
  }
}

void TrainerParameters::write(const AlignedFloats& array, const std::vector<double*>& columns) const {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    for_numbers(pieces_[i], [&](size_t to, size_t from) { columns[i][to] = static_cast<double>(array.data()[from]); });
  }
}

}  // namespace attn::fast
