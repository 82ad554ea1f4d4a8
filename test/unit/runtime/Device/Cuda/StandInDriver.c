/* What cuDNN asks of libcuda.so.1 to make plans for a GPU that is only
   described: that it can be opened and takes code. There is no GPU. */

typedef int Result;
enum { Success = 0, NoDevice = 100 };

static Result give(void **handle) {
  static int nothing;
  *handle = &nothing;
  return Success;
}

Result cuLibraryLoadData(void **library) { return give(library); }
Result cuLibraryGetKernel(void **kernel) { return give(kernel); }
Result cuModuleLoadData(void **module) { return give(module); }
Result cuModuleLoadDataEx(void **module) { return give(module); }
Result cuModuleGetFunction(void **function) { return give(function); }
Result cuLibraryUnload(void) { return Success; }
Result cuModuleUnload(void) { return Success; }
Result cuKernelSetAttribute(void) { return Success; }
Result cuFuncSetAttribute(void) { return Success; }

#define NONE(name)                                                             \
  Result name(void) { return NoDevice; }
NONE(cuInit)
NONE(cuDriverGetVersion)
NONE(cuGetErrorName)
NONE(cuGetErrorString)
NONE(cuDeviceGet)
NONE(cuDeviceGetCount)
NONE(cuDeviceGetAttribute)
NONE(cuDevicePrimaryCtxRetain)
NONE(cuDevicePrimaryCtxRelease)
NONE(cuDevicePrimaryCtxReset)
NONE(cuCtxGetCurrent)
NONE(cuCtxGetDevice)
NONE(cuCtxGetLimit)
NONE(cuCtxPushCurrent)
NONE(cuCtxPopCurrent)
NONE(cuFuncGetAttribute)
NONE(cuKernelGetAttribute)
NONE(cuKernelGetFunction)
NONE(cuLaunchKernel)
NONE(cuLaunchKernelEx)
NONE(cuLaunchCooperativeKernel)
NONE(cuLibraryLoadFromFile)
NONE(cuLinkCreate)
NONE(cuLinkCreate_v2)
NONE(cuLinkAddData)
NONE(cuLinkAddData_v2)
NONE(cuLinkAddFile_v2)
NONE(cuLinkComplete)
NONE(cuLinkDestroy)
NONE(cuMemcpyDtoH_v2)
NONE(cuModuleGetGlobal_v2)
NONE(cuModuleLoadFatBinary)
NONE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NONE(cuOccupancyMaxPotentialClusterSize)
NONE(cuStreamGetCtx)
NONE(cuStreamSynchronize)
NONE(cuTensorMapEncodeIm2col)
NONE(cuTensorMapEncodeTiled)
NONE(cuTensorMapReplaceAddress)
