//===- zc-opt.cpp - mlir-opt for zc's dialects and passes -----------------===//
#include "compiler/Driver/RegisterPhases.h"
#include "compiler/Driver/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Contents/Contents.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  zc::registerDialects(registry);
  zc::registerPasses();
  zc::registerPhases();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "zc-opt: run zc's passes\n", registry));
}
