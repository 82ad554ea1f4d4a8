//===- zc-opt.cpp - mlir-opt for zc's dialects and passes -----------------===//
#include "compiler/Driver/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  zc::registerDialects(registry);
  zc::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "zc-opt: run zc's passes one by one\n", registry));
}
