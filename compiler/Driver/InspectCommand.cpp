#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Artifact.h"

using namespace zc;

Command zc::addInspectCommand(CLI::App &command) {
  auto path = std::make_shared<std::string>();
  auto html = std::make_shared<std::string>();
  auto options = std::make_shared<InspectOptions>();
  command.add_option("artifact", *path, "the artifact, OUT.zca")->required();
  command.add_flag("--memory", options->memory,
                   "bytes per class, each at its own maximum, and the peak");
  command.add_flag("--comm", options->comm, "what is sent, per kind and axis");
  command.add_flag("--sharding", options->sharding,
                   "how every tensor is divided among ranks, and why");
  command.add_flag("--schedule", options->schedule, "every instruction");
  command.add_flag("--ops", options->ops, "instructions and kernels, counted");
  command.add_option("--html", *html, "write a page with all of it")
      ->type_name("FILE");
  command.add_flag("--json", options->json, "as JSON");
  return [path, html, options] {
    Result<Artifact> artifact = Artifact::load(*path, /*checkWeights=*/false);
    if (!artifact.ok())
      return reportError(artifact.status().message());
    if (!html->empty()) {
      Status apart = artifact->files().check("--html", *html);
      if (!apart.ok())
        return reportError(apart.message());
      return emitText(*html, inspectAsHtml(artifact->manifest()));
    }
    std::string text = inspect(artifact->manifest(), *options);
    if (!text.empty() && text.back() != '\n')
      text += '\n';
    return emitText("", text);
  };
}
