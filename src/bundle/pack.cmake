# Packs an agent, and writes its row of the table of agents.
execute_process(COMMAND ${ZSTD} --quiet --force -${LEVEL} ${AGENT} -o ${PACKED}
                COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 ${AGENT} digest)
file(SIZE ${AGENT} size)
file(SIZE ${PACKED} packed_size)
file(SIZE ${UNPACKER} unpacker_size)
file(WRITE ${PACKED}.row
  "{\"${MACHINE}\", \"${digest}\", ${size}, {autodist_packed_${MACHINE}, ${packed_size}},\n"
  " {autodist_unpacker_${MACHINE}, ${unpacker_size}}},\n")
