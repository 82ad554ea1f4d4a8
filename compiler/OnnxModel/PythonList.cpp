#include "compiler/OnnxModel/PythonList.h"

using namespace zc;

std::vector<std::string> zc::parsePythonList(llvm::StringRef text) {
  std::vector<std::string> strings;
  while (true) {
    size_t start = text.find_first_of("'\"");
    if (start == llvm::StringRef::npos)
      return strings;
    char quote = text[start];
    text = text.drop_front(start + 1);
    std::string string;
    while (!text.empty() && text.front() != quote) {
      if (text.front() == '\\' && text.size() > 1)
        text = text.drop_front();
      string.push_back(text.front());
      text = text.drop_front();
    }
    if (text.empty())
      return strings;
    text = text.drop_front();
    strings.push_back(std::move(string));
  }
}
