#pragma once

#include <armadillo>
#include <filesystem>
#include <vector>

/// Which files a folder with a model has. Given: no lesson asks for it.
namespace attn {

/// The file model.safetensors or, if there is none, all that model.safetensors.index.json lists.
///
/// @throws std::invalid_argument naming the folder or the file that is missing.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

/// The ids that end a text: eos_token_id of generation_config.json or, if that has none, of config.json. One number or a list
/// in the file; empty when neither has it.
std::vector<arma::uword> read_stop_tokens(const std::filesystem::path& folder);

}  // namespace attn
