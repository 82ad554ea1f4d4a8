#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Export.h"

using namespace zc;

Command zc::addExportCommand(CLI::App &command) {
  auto options = std::make_shared<ExportOptions>();
  command.add_option("artifact", options->artifact, "the artifact, OUT.zca")
      ->required();
  command
      .add_option("--checkpoint", options->checkpoint,
                  "DIR (latest) or DIR/step-N with the trained weights")
      ->required()
      ->type_name("DIR");
  command
      .add_option("-o,--output", options->output,
                  "the original model with trained weights")
      ->type_name("TRAINED.onnx");
  command
      .add_option("--safetensors", options->safetensors,
                  "the trained weights alone")
      ->type_name("FILE");
  command.add_flag("--ema", options->average,
                   "the moving averages of the weights in place of the "
                   "weights; zc compile --ema keeps them");
  return [options] {
    if (options->output.empty() && options->safetensors.empty())
      throw CLI::RequiredError("--output or --safetensors");
    return exportModel(*options);
  };
}
