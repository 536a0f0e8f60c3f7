"""Hook of MkDocs: links to files of the repository outside docs/ become their paths, since the site does
not contain them."""

import posixpath
import re


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[2].split("#")[0]))
        return match[0] if path.startswith("docs/") and not path.endswith(".json") else f"{match[1]} (`{path}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:)(?!#)([^)\s]+)\)", replaced, markdown)
