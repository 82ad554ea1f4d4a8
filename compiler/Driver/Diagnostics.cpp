#include "compiler/Driver/Diagnostics.h"

#include "compiler/Driver/TensorNames.h"
#include "dialects/Onnx/Location.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

int zc::reportError(const std::string &message) {
  llvm::errs() << "zc: error: " << message << '\n';
  return 1;
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) { print(diagnostic); }) {}

static const char *getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  default:
    return "note: ";
  }
}

// The author's node; else the file alone; else nothing.
static std::string getPlace(Location location) {
  std::string place = zc::onnx::describe(location);
  if (!place.empty())
    return place + ": ";
  if (auto file = location->findInstanceOf<FileLineColLoc>()) {
    place = file.getFilename().str();
    if (file.getLine() != 0)
      place += ":" + std::to_string(file.getLine());
    return place + ": ";
  }
  return "";
}

/// Types in the words of those who train.
static std::string putIntoWords(StringRef message) {
  std::string text;
  while (true) {
    auto [before, rest] = message.split("tensor<");
    const size_t end = rest.find('>');
    if (before.size() == message.size() || end == StringRef::npos)
      return text + message.str();
    StringRef after = rest.drop_front(end + 1);
    const bool isQuoted = before.ends_with("'") && after.starts_with("'");
    text += (isQuoted ? before.drop_back() : before).str() +
            nameTensor(rest.take_front(end));
    message = isQuoted ? after.drop_front() : after;
  }
}

static std::string describe(const Diagnostic &diagnostic) {
  std::string place = getPlace(diagnostic.getLocation());
  std::string message = putIntoWords(diagnostic.str());
  // Some messages say themselves where they are.
  return StringRef(message).starts_with(place) ? message : place + message;
}

static void printOne(const Diagnostic &diagnostic, StringRef prefix) {
  llvm::errs() << "zc: " << getSeverity(diagnostic.getSeverity()) << prefix
               << describe(diagnostic) << '\n';
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string prefix;
  if (!internal.empty())
    prefix = "internal error " + internal + ": ";
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && ++errors == 1)
    firstError = describe(diagnostic);
  if (silent)
    return;
  printOne(diagnostic, prefix);
  for (const Diagnostic &note : diagnostic.getNotes())
    printOne(note, "");
}
