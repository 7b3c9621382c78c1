import RemoteSettingsModel

/// The form for choosing an older snapshot to compare with.
struct ChangesForm {
    let collection: PageCatalog.Collection
    let from: Timestamp?
    let now: Timestamp

    func write(to html: inout HTMLWriter) {
        html.element(.form, .class("search compare"), .get, .action(.changes(collection.id))) { html in
            html.element(.div, .class("field")) { html in
                html.element(.label, .for("from"), text: "What changed since the snapshot of")
                html.element(.select, .id("from"), .name("from")) { html in
                    for state in collection.olderStates {
                        let time = state.timestamp
                        let text = "\(Wording.date(time)) UTC, \(Wording.ago(time, at: now))"
                        if time == from {
                            html.element(.option, .value("\(time)"), .selected, text: text)
                        } else {
                            html.element(.option, .value("\(time)"), text: text)
                        }
                    }
                }
            }
            html.element(.button, .type("submit"), text: "Compare")
        }
    }
}
