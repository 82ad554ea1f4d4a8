// The libraries of a GPU, opened when a call first needs them.
#ifndef ZC_RUNTIME_DEVICE_CUDA_LIBRARYHANDLES_H
#define ZC_RUNTIME_DEVICE_CUDA_LIBRARYHANDLES_H

#include "runtime/Device/Cuda/DnnPlans.h"
#include "runtime/Device/Cuda/Matmul.h"

namespace zc::cuda {

class LibraryHandles {
public:
  LibraryHandles(const Driver &driver, AlgorithmChoice choice)
      : driver(&driver), choice(choice) {}
  /// The libraries of a described GPU: cuDNN alone.
  explicit LibraryHandles(std::unique_ptr<DnnPlans> plans)
      : plans(std::move(plans)) {}

  /// The stream that algorithms are measured on; before anything is opened.
  void measureOn(CUstream measured) { stream = measured; }
  /// Ends the libraries, before the streams that they were given.
  void close() {
    plans.reset();
    products.reset();
  }

  Result<DnnPlans *> dnn() {
    if (!plans) {
      ZC_ASSIGN_OR_RETURN(plans, DnnPlans::open(*driver, stream, choice));
    }
    return plans.get();
  }
  Result<Matmuls *> matmuls() {
    if (!products) {
      ZC_ASSIGN_OR_RETURN(products, Matmuls::open(*driver, stream, choice));
    }
    return products.get();
  }

private:
  const Driver *driver = nullptr;
  AlgorithmChoice choice;
  CUstream stream = nullptr;
  std::unique_ptr<Matmuls> products;
  std::unique_ptr<DnnPlans> plans;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_LIBRARYHANDLES_H
