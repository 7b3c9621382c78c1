/// Why a regular expression cannot be used.
struct PatternError: Error, Equatable {
    let problem: String

    init(_ problem: String) {
        self.problem = problem
    }
}
