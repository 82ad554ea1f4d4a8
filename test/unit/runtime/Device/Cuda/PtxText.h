// Lines of PTX in parts.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTEXT_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTEXT_H

#include <sstream>
#include <string>
#include <vector>

namespace zc::test {

inline std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);)
    parts.push_back(part);
  return parts;
}

inline std::string trim(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t");
  size_t end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// "a, {b, c}, [d+4]" into its operands.
inline std::vector<std::string> operandsOf(const std::string &text) {
  std::vector<std::string> operands;
  std::string current;
  int depth = 0;
  for (char c : text) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 0) {
      operands.push_back(trim(current));
      current.clear();
    } else {
      current += c;
    }
  }
  if (!trim(current).empty())
    operands.push_back(trim(current));
  return operands;
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_PTXTEXT_H
