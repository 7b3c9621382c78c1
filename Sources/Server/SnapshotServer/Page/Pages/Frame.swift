import RemoteSettingsModel

/// The header, footer and navigation around the content of every document.
enum Frame {
    /// The maximum size of a page's content in bytes. It is limited because servers control the records, and any client
    /// may request a page.
    private static let mostBytes = 4 << 20

    /// Returns a complete document.
    ///
    /// - Parameters:
    ///   - trail: the path from the front page to this page. The last entry is this page, which is not a link.
    static func document(
        title: String, trail: [(text: String, link: PageLink)] = [], main: (inout HTMLWriter) -> Void
    ) -> HTMLWriter {
        var html = HTMLWriter()
        html.doctype()
        html.element(.html, .english) { html in
            html.element(.head) { html in
                html.void(.meta, .utf8)
                html.void(.meta, .name("viewport"), .content("width=device-width, initial-scale=1"))
                html.void(.meta, .name("color-scheme"), .content("light dark"))
                html.element(.title, text: HiddenCharacters.spelledOut(title))
                html.void(.link, .rel("icon"), .type("image/svg+xml"), .href(.icon))
                html.style(StyleSheet.text)
            }
            html.element(.body) { html in
                html.element(.a, .class("skip"), .anchor("main"), text: "Skip to the content")
                header(trail, &html)
                html.element(.main, .id("main"), .focusTarget) { html in
                    html.element(.div, .class("frame")) { $0.bounded(to: Self.mostBytes, content: main) }
                }
                html.element(.footer) { html in
                    html.element(.div, .class("frame")) { html in
                        html.text("Read-only. Records are shown as plain text, and nothing in them is executed.")
                    }
                }
            }
        }
        html.newline()
        return html
    }

    private static func header(_ trail: [(text: String, link: PageLink)], _ html: inout HTMLWriter) {
        html.element(.header, .class("site")) { html in
            html.element(.nav, .class("frame trail"), .ariaLabel("You are here")) { html in
                html.element(.ul) { html in
                    for (index, entry) in ([("Snapshots", PageLink.home)] + trail).enumerated() {
                        html.element(.li) { html in
                            if index == trail.count {
                                html.element(.span, .isCurrentPage, text: entry.text)
                            } else {
                                html.element(.a, .href(entry.link), text: entry.text)
                            }
                        }
                    }
                }
            }
        }
    }
}
