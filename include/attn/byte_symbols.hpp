#pragma once

#include <string>
#include <vector>

namespace attn {

/// A visible character for each of the 256 bytes, so that vocabularies can be written as text: GPT-2's table. The bytes
/// 0x21 to 0x7E, 0xA1 to 0xAC and 0xAE to 0xFF stand for the characters with the same number ("A" for 0x41, "é" for
/// 0xE9). All others, in their order, stand for the characters U+0100, U+0101, ...: "Ā" for 0x00, "Ġ" (U+0120) for the
/// space, "Ń" (U+0143) for 0xAD.
///
/// @return 256 characters, each of one or two bytes of UTF-8. bytes_to_unicode in encoder.py of openai/gpt-2.
std::vector<std::string> byte_symbols();

/// The character of every byte: " é" (the bytes 20 C3 A9) gives "Ġ", "Ã", "©".
std::vector<std::string> to_symbols(const std::string& bytes);

/// The inverse: "ĠÃ©" gives " é".
///
/// @throws std::invalid_argument naming symbols and the character, when one stands for no byte; or as split_characters.
std::string from_symbols(const std::string& symbols);

}  // namespace attn
