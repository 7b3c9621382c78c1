import ArgumentParser

/// `rsdump serve` in a program that was built without its trait.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve bundles as a Remote Settings server does (not in this program).")

    @Argument(parsing: .captureForPassthrough, help: .hidden)
    var arguments: [String] = []

    func run() throws {
        throw CommandFailure(
            .usage,
            "this rsdump was built without serve, which needs the trait Server; build it with swift build --traits "
                + "Server --product rsdump, or install a package, which has it")
    }
}
