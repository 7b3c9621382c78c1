/// The forms that bundles can be exported to.
public enum ExportLayout: String, CaseIterable, Sendable {
    /// application-services' `components/remote_settings/dumps`: a directory.
    case applicationServices = "application-services"

    /// One line on what it is, for people.
    public var summary: String {
        switch self {
        case .applicationServices: "the dumps directory of Mozilla's application-services"
        }
    }
}
