// Folders that only this user can enter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::base {

bool IsPrivateFolder(const std::string& path);

// Creates the folder if it is missing. Every user can write to /tmp, so a link or another user's
// folder of that name is refused, with this hint.
Status MakePrivateFolder(const std::string& path, std::string_view remedy);

// Returns folders for this user's sockets on this host, the preferred one first: one in /tmp, and
// one in the home folder, where no other user can take the name. Hosts that share a home folder
// have one folder each. `what` distinguishes uses.
std::vector<std::string> SocketFolders(const std::string& what = "");

// Checks that only this user and root can change the folder or replace it: it and all folders above
// it, with links resolved, belong to them, and others can write to none of them except folders with
// the sticky bit, such as /tmp.
Status CheckOnlyWeCanChange(const std::string& folder);

// Opens a file for reading whose folder belongs to this user and is writable by no other user, so
// that all its content is this user's. Follows no link; refuses anything but a regular file, since
// opening others may block.
Result<UniqueFd> OpenOwnFile(const std::string& path);
Result<std::string> ReadOwnFile(const std::string& path, size_t limit);  // like ReadFile

// Whether the path is a private folder, or can become one because nothing exists there.
bool CanBePrivateFolder(const std::string& path);

// Creates the parent folders of the path, private to this user, where possible; the later use of
// the path reports any failure.
void MakeFoldersAbove(const std::string& path);

// Creates one of SocketFolders, and the parents of the one in the home folder.
Status MakeSocketFolder(const std::string& path);

}  // namespace autodist::base
