import RemoteSettingsModel

/// Responses that explain why a page cannot be shown.
enum ProblemPage {
    static func notFound(_ reason: String) -> PageAnswer {
        .document(page("Not found", reason, detail: nil), status: 404)
    }

    /// The response for an unknown path. API clients get a different response for the same path, so `Vary` prevents
    /// caches from mixing them up.
    static var noPage: PageAnswer {
        .document(
            page("Not found", "There is no page at this address.", detail: nil), status: 404,
            [PageAnswer.Header("Vary", "Accept")])
    }

    static func unreadable(_ reason: String, _ detail: String) -> PageAnswer {
        .document(page("Cannot show this page", reason, detail: detail), status: 500)
    }

    private static func page(_ heading: String, _ reason: String, detail: String?) -> HTMLWriter {
        Frame.document(title: heading, trail: [(heading, .home)]) { html in
            html.element(.h1, text: heading)
            html.element(.p, .class("lead"), text: reason)
            if let detail { html.element(.pre, .focusable, text: detail) }
            html.element(.p) { $0.element(.a, .href(.home), text: "All collections") }
        }
    }
}
