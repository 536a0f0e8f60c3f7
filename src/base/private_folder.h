// Folders that nobody but this user can enter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::base {

bool IsPrivateFolder(const std::string& path);

// Makes it where it is missing. /tmp is everybody's: a link, or somebody else's folder, that
// already has the name is refused, with this remedy.
Status MakePrivateFolder(const std::string& path, std::string_view remedy);

// Where this user's sockets may be on this host, the best place first: a folder in /tmp, and one in
// the home folder, where nobody else can take its name; hosts that share a home folder have one
// each. `what` distinguishes uses.
std::vector<std::string> SocketFolders(const std::string& what = "");

// Whether nobody but this user and root can put anything into the folder or into its place: it and
// all folders above it, links resolved, are theirs, and others can write in none of them, but for
// folders like /tmp, where what is there can be moved by its owner alone.
Status CheckOnlyWeCanChange(const std::string& folder);

// For reading; a file in a folder that is this user's and in which nobody else can write, so that
// all in it is this user's own doing. Not through a link, and nothing but a file, which one could
// have to wait for.
Result<UniqueFd> OpenOwnFile(const std::string& path);
Result<std::string> ReadOwnFile(const std::string& path, size_t limit);  // as ReadFile

// Whether it is a private folder, or may well become one: nothing is in its place yet.
bool CanBePrivateFolder(const std::string& path);

// Makes the folders that lead to the path, private to this user, as far as that can be; what uses
// the path finds out where it cannot.
void MakeFoldersAbove(const std::string& path);

// Makes one of SocketFolders, and for that in the home folder those above it.
Status MakeSocketFolder(const std::string& path);

}  // namespace autodist::base
