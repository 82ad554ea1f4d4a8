#include "tools/zc-run/TrustOptions.h"
#include "runtime/Plan/Signature.h"

namespace zc {

void addTrustOptions(CLI::App &app, LaunchOptions &options, bool &isShut) {
  const char *group =
      "Trust (an artifact is a program: it can do what you can)";
  app.add_option("--trust", options.trusted,
                 "run the artifact only if it is signed (zc sign) by this "
                 "public key, or has this hash; may be repeated: any of them")
      ->check(checkTrusted)
      ->allow_extra_args(false)
      ->type_name("KEYFILE|sha256:HASH")
      ->group(group);
  app.add_flag("--sandbox", isShut,
               "the artifact's code opens no files but those that options "
               "name, no connections and no programs; refused where the kernel "
               "cannot do that")
      ->group(group);
}

} // namespace zc
