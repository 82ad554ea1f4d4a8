#include "runtime/Io/DataFile.h"
#include "runtime/Base/File.h"
#include "runtime/Io/DataPaths.h"
#include "runtime/Plan/ZipFormat.h"
#include "runtime/Plan/ZipReader.h"

#include <filesystem>
#include <sys/stat.h>

namespace zc {

namespace fs = std::filesystem;

static constexpr std::string_view kSuffix = ".npy";

/// "x" for "x.npy", nothing for another file.
static std::string nameOf(const std::string &file) {
  if (file.size() <= kSuffix.size() ||
      file.compare(file.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0)
    return "";
  return file.substr(0, file.size() - kSuffix.size());
}

Result<DataFile> DataFile::open(const std::string &path, int tokenBits) {
  DataFile data;
  data.thePath = path;
  if (path == "-")
    return makeError(StatusCode::InvalidArgument,
                     "'-', standard input, is read once, by the steps of zc "
                     "run --data -; expected a file");
  std::error_code error;
  if (isTokenPath(path) && !fs::is_directory(path, error)) {
    ZC_ASSIGN_OR_RETURN(data.theTokens, openTokenFiles(path, tokenBits));
    for (const TokenShard &shard : data.theTokens)
      data.addToFiles(shard.file->path());
    return data;
  }
  if (fs::is_directory(path, error)) {
    ZC_RETURN_IF_ERROR(data.openFolder());
    return data;
  }
  if (!fs::exists(path, error) &&
      (isPattern(path) || listPaths(path).size() > 1)) {
    ZC_RETURN_IF_ERROR(data.openSeveral());
    return data;
  }
  Status opened = data.openArchive(path, data.theArrays);
  if (opened.code() == StatusCode::Corrupt && !nameOf(path).empty())
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' is a single array; expected an .npz, or a folder with "
                     "NAME.npy for every input");
  ZC_RETURN_IF_ERROR(opened);
  return data;
}

void DataFile::addToFiles(const std::string &path) {
  struct stat info;
  Extent extent;
  if (::stat(path.c_str(), &info) == 0)
    extent = {info.st_dev, info.st_ino, info.st_size};
  theFiles.push_back(path);
  extents.push_back(extent);
}

/// A file that another one has replaced under its name is whole.
Status DataFile::checkUncut() const {
  for (size_t i = 0; i < theFiles.size(); ++i) {
    struct stat now;
    const Extent &then = extents[i];
    if (::stat(theFiles[i].c_str(), &now) == 0 && now.st_dev == then.device &&
        now.st_ino == then.inode && now.st_size < then.bytes)
      return makeError(StatusCode::IoError, "'", theFiles[i],
                       "' was cut short while it was read, from ", then.bytes,
                       " to ", now.st_size,
                       " bytes; put it back and leave it as it is");
  }
  return Status();
}

std::string DataFile::doubt() const {
  for (const TokenShard &shard : theTokens)
    if (shard.isAssumed && looksTwiceAsWide(shard))
      return "every second token of '" + shard.file->path() +
             "' is 0, so these are rather tokens of 32 bits; say which they "
             "are with --token-bits 32, or 16";
  return "";
}

Result<DataFile>
DataFile::openArrays(const std::map<std::string, std::string> &files) {
  DataFile data;
  data.thePath = "--input";
  for (const auto &[name, path] : files)
    ZC_RETURN_IF_ERROR(data.addFile(name, path));
  return data;
}

DataFile DataFile::ofArrays(const std::string &name,
                            std::map<std::string, NpyArray> arrays) {
  DataFile data;
  data.thePath = name;
  data.theArrays = std::move(arrays);
  return data;
}

/// Nobody may need an array of a type that cannot be read: names of classes
/// stand beside their numbers.
Status DataFile::add(const std::string &name, Result<NpyArray> array,
                     const std::string &where, Arrays &arrays) {
  if (array.ok()) {
    arrays.emplace(name, std::move(*array));
    return Status();
  }
  Status why = array.status().withContext(where);
  if (array.status().code() != StatusCode::Unsupported)
    return why;
  unread.emplace(name, std::move(why));
  return Status();
}

Status DataFile::addFile(const std::string &name, const std::string &path) {
  ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ZC_RETURN_IF_ERROR(
      add(name, parseNpy(file->bytes(), file), "'" + path + "'", theArrays));
  addToFiles(path);
  return Status();
}

Status DataFile::openFolder() {
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(thePath, error)) {
    std::string name = nameOf(entry.path().filename().string());
    if (!name.empty())
      ZC_RETURN_IF_ERROR(addFile(name, entry.path().string()));
  }
  if (error)
    return errnoError("cannot read folder '" + thePath + "'", error.value());
  if (theArrays.empty() && unread.empty())
    return makeError(StatusCode::InvalidArgument, "'", thePath,
                     "' has no .npy files; expected NAME.npy for every input");
  return Status();
}

Status DataFile::openSeveral() {
  for (const std::string &each : listPaths(thePath)) {
    ZC_ASSIGN_OR_RETURN(const std::vector<std::string> paths, expandPath(each));
    for (const std::string &path : paths) {
      Arrays &arrays = theFiles.empty()
                           ? theArrays
                           : further.emplace_back(path, Arrays()).second;
      ZC_RETURN_IF_ERROR(openArchive(path, arrays));
    }
  }
  return Status();
}

Status DataFile::openArchive(const std::string &path, Arrays &arrays) {
  ZC_ASSIGN_OR_RETURN(ZipReader reader, ZipReader::open(path));
  auto zip = std::make_shared<ZipReader>(std::move(reader));
  addToFiles(path);
  for (const ZipEntry &entry : zip->entries()) {
    std::string name = nameOf(entry.name);
    if (name.empty())
      continue;
    // Stored arrays stay in the file; deflated ones are inflated once.
    std::shared_ptr<const void> owner = zip;
    std::string_view bytes;
    if (entry.method == zip::kStored) {
      ZC_ASSIGN_OR_RETURN(bytes, zip->view(entry));
    } else {
      ZC_ASSIGN_OR_RETURN(std::string inflated, zip->read(entry));
      auto kept = std::make_shared<std::string>(std::move(inflated));
      bytes = *kept;
      owner = kept;
    }
    ZC_RETURN_IF_ERROR(add(name, parseNpy(bytes, owner),
                           "'" + path + "', entry '" + entry.name + "'",
                           arrays));
  }
  return Status();
}

} // namespace zc
