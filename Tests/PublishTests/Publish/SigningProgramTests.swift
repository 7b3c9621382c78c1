import ContentSigning
import Crypto
import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// External signing programs for `publish --sign-with`.
@Suite struct SigningProgramTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    /// Larger than the buffer of a pipe.
    private let message = Bytes([UInt8](repeating: 0x61, count: 1 << 20))

    @Test func signingProgramGetsMessageOnStdin() async throws {
        let made = try await SigningProgram("sha384sum | cut -c 1-96").sign(message)
        let hex = SHA384.hash(data: message.array).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        #expect(made.text == hex.joined() + "\n")
        // A program may ignore its input.
        #expect(try await SigningProgram("echo done").sign(message).text == "done\n")
        // A program may write a line of 3 MB to standard error.
        let noisy = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo done"
        #expect(try await SigningProgram(noisy).sign(message).text == "done\n")
    }

    @Test(arguments: [
        ("echo PIN incorrect >&2; exit 7", "PIN incorrect"), ("exit 7", "exited with code 7"),
        ("kill -9 $$", "killed by a signal"), ("cat", "too large"),
        ("cat; exec sleep 100", "too large"),
        ("head -c 3000000 /dev/zero >&2; echo '; no token' >&2; exit 1", "no token"),
        ("no-such-program", "no-such-program"),
    ])
    func signingProgramFailureIsExplained(command: String, words: String) async throws {
        let error = await #expect(throws: Failure.self) { try await SigningProgram(command).sign(message) }
        #expect(error?.code == .program && error?.place == "--sign-with")
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    /// On a timeout, all processes that the command started are ended.
    @Test func signingProgramTimeout() async throws {
        let place = try PublishingPlace(at: now)
        let (over, file) = ("\(place.root)/over", "\(place.root)/late")
        let program = SigningProgram(
            "(until [ -e '\(over)' ]; do sleep 0.1; done; touch '\(file)') | sleep 9999", seconds: 1)
        let error = await #expect(throws: Failure.self) { try await program.sign(message) }
        #expect(error?.description.contains("longer than 1 second") == true)
        try FileStore.replace(over, with: Bytes(utf8: ""))
        try await Task.sleep(for: .seconds(1))
        #expect(try !FileStore.exists(file))
    }
}

/// Publishing with a key outside the key directory.
@Suite struct ExternalKeyTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)

    /// A key that counts its signatures and fails after `mostSignatures`.
    private actor Token {
        let key = P384.Signing.PrivateKey()
        private(set) var count = 0
        private let mostSignatures: Int

        init(mostSignatures: Int = .max) {
            self.mostSignatures = mostSignatures
        }

        struct Removed: Error {}

        func sign(_ message: Bytes) throws -> Bytes {
            guard count < mostSignatures else { throw Removed() }
            count += 1
            return Bytes(Array(try key.signature(for: SHA384.hash(data: message.array)).rawRepresentation))
        }
    }

    private func place(signedBy token: Token) throws -> PublishingPlace {
        var plan = KeyDirectory.Plan()
        plan.signerKey = try PublicKey(pem: Bytes(utf8: token.key.publicKey.pemRepresentation), place: "public.pem")
        let place = try PublishingPlace(at: now, keys: plan)
        try FileStore.makeDirectories(place.dumps.path)
        try place.dumps.writeConfiguration(
            "version: 1\nserver: http://127.0.0.1:8888/v1\ntrust: {roots: [\"\(place.trusted)\"]}\ncollections:\n")
        try place.write("records: {a: {v: 1}}")
        try place.write("records: {a: {v: 1}}", to: "main/other.yaml")
        return place
    }

    private func publisher(_ place: PublishingPlace, _ token: Token, at time: Timestamp) async throws -> Publisher {
        try await place.publisher(.init(time: time), signer: place.keys.signer([:]) { try await token.sign($0) })
    }

    @Test func signingProgramRunsOncePerState() async throws {
        let token = Token()
        let place = try place(signedBy: token)
        for outcome in try await publisher(place, token, at: now).run(place.sources.read()) {
            _ = try outcome.result.get()
        }
        #expect(await token.count == 2)
        try place.verify(roots: [place.trusted])
        _ = try await publisher(place, token, at: now).run(place.sources.read())
        #expect(await token.count == 2)
    }

    @Test(arguments: [0, 1]) func failedSigningPublishesNothing(mostSignatures: Int) async throws {
        let token = Token(mostSignatures: mostSignatures)
        let place = try place(signedBy: token)
        let before = try place.files()
        await #expect {
            try await publisher(place, token, at: now).run(place.sources.read())
        } throws: {
            guard let error = $0 as? Failure else { return false }
            return error.cause == .signer && error.problem == "\(Token.Removed())"
        }
        #expect(try place.files() == before)
        #expect(try FileStore.list(place.dumps.path) == ["dumps.yaml"])
    }
}
