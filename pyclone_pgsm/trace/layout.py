"""The trace: an HDF5 file that holds the data, the settings and every saved iteration of every chain.

    /config             attributes: format, version, command (all that made the trace, one a line), options (JSON), seed
    /data               enough to go on without the input files: ids, counts, copy numbers and what was left out of a
                        tumour; names and values of any other matrix
    /chains/<k>/        labels [iterations, T], iteration, num_clusters, concentration, log_joint, seconds, and one
                        dataset for each other hyperparameter of the partition prior (discount) and of the likelihood
                        (precision, error_rate, tumour_content:SAMPLE, ..); outliers [iterations, T] if mutations may
                        be; watched [iterations, W] of tumours: prevalences by which the chains are compared;
                        moves [iterations, M, 4]: of each of the options' "moves", in that iteration, how often it was
                        tried, changed the partition, left more clusters, left fewer
    /chains/<k>/state   what the chain needs to go on: iterations done, labels, outliers, random generator, visits (how
                        often the burn-in saw each value that the hyperparameters can take), ...

The first line of the file, before HDF5's own bytes, is the SHA-256 of all that follows from byte 512 on; a program that
changes a trace must renew it (pyclone_pgsm.trace.structure.seal). Texts are UTF-8 of a fixed length, filled with zero
bytes.
"""
