#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Artifact.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace zc;

namespace {
struct Arguments {
  std::vector<std::string> paths;
  std::string html;
  InspectOptions options;
};
} // namespace

static int writePage(const Arguments &arguments,
                     const std::vector<Artifact> &artifacts) {
  for (const Artifact &artifact : artifacts)
    if (Status apart = artifact.files().check("--html", arguments.html);
        !apart.ok())
      return reportError(apart.message());
  if (artifacts.size() == 1)
    return emitText(arguments.html,
                    inspectAsHtml(artifacts.front().manifest()));
  std::vector<NamedManifest> named;
  for (const auto &[path, artifact] : llvm::zip(arguments.paths, artifacts))
    named.push_back({llvm::sys::path::stem(path).str(), artifact.manifest()});
  return emitText(arguments.html, compareAsHtml(named));
}

static bool asksForText(const InspectOptions &options) {
  return options.memory || options.comm || options.schedule || options.ops ||
         options.sharding || options.json;
}

static int inspectArtifacts(const Arguments &arguments) {
  if (arguments.paths.size() > 1 &&
      (arguments.html.empty() || asksForText(arguments.options)))
    throw CLI::ValidationError(
        "artifact", "several of them are compared on a page, --html FILE, and "
                    "on nothing else");
  std::vector<Artifact> artifacts;
  for (const std::string &path : arguments.paths) {
    Result<Artifact> artifact = Artifact::load(path, /*checkWeights=*/false);
    if (!artifact.ok())
      return reportError(artifact.status().message());
    artifacts.push_back(std::move(*artifact));
  }
  if (!arguments.html.empty())
    if (int code = writePage(arguments, artifacts);
        code != 0 || !asksForText(arguments.options))
      return code;
  std::string text = inspect(artifacts.front().manifest(), arguments.options);
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  return emitText("", text);
}

Command zc::addInspectCommand(CLI::App &command) {
  auto arguments = std::make_shared<Arguments>();
  InspectOptions &options = arguments->options;
  command
      .add_option("artifact", arguments->paths,
                  "the artifact, OUT.zca; several with --html")
      ->required();
  command.add_flag("--memory", options.memory,
                   "bytes per class, each at its own maximum, and the peak");
  command.add_flag("--comm", options.comm, "bytes sent, per kind and axis");
  command.add_flag("--sharding", options.sharding,
                   "how every tensor is divided among ranks, and why");
  command.add_flag("--schedule", options.schedule, "every instruction");
  command.add_flag("--ops", options.ops, "instructions and kernels, counted");
  command
      .add_option("--html", arguments->html,
                  "write a page with all of it; of several artifacts one that "
                  "compares them, by their layers where these differ")
      ->type_name("FILE");
  command.add_flag("--json", options.json, "as JSON");
  return [arguments] { return inspectArtifacts(*arguments); };
}
